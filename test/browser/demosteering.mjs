// Plays the steering tab of the demo page in a headless Chromium: overrides pathways by the buttons and expects the
// player's own requests to follow within a TTL and a segment, then stops the server of the current pathway and expects
// the picture to go on. It exits 1 with a word about what was expected.
//
//   node demosteering.mjs PAGE CHROMIUM PROFILE PICTURES
//
// PAGE is the page's URL, CHROMIUM the browser's path, PROFILE a new empty directory for its profile, PICTURES a
// directory for pictures of the page in light and dark and as wide as a telephone.

import path from 'node:path';
import { run, say } from './demorig.mjs';

const pictures = process.argv[5];
const segment = 2; // s
const first = ['chosen', 'kept']; // the whys of the redirector's first choice
const margin = 4; // s, for a busy machine

await run(async (demo) => {
  const { page } = demo;
  const state = () => demo.state('steered-video', 'pathway');
  const until = (what, holds) => demo.until(what, state, holds);
  const card = (id) => page.evaluate((id) => {
    const text = (selector) => document.querySelector(`[data-id="${id}"] ${selector}`)?.textContent;
    return { rank: text('.rank'), why: text('code'), pressed: text('[aria-pressed="true"]') ?? '', state: text('.card-state') };
  }, id);

  // sees waits until the card of a pathway shows what is expected, any of several where there is a list.
  async function sees(id, expected) {
    await demo.until(`the card of ${id} shows ${JSON.stringify(expected)}`, () => card(id), (now) =>
      Object.entries(expected).every(([key, value]) => [value].flat().includes(now[key])));
  }

  // plays waits until segments come from the pathway and its picture goes on.
  async function plays(id) {
    const before = await until(`segments from ${id}`, (now) => now.steeredState === 'playing' && now.pathway === id && now.width > 0);
    const later = await until('goes on for 3 s', (now) => now.steeredState === 'playing' && now.time > before.time + 3);
    if (later.pathway !== id) throw new Error(`it moved from ${id} to ${later.pathway} by itself`);
    if (!later.shown.startsWith(id)) throw new Error(`the page shows ${later.shown}, expected ${id}`);
    return later;
  }

  // moves presses a button and expects segments from the pathway in time, without a stop.
  async function moves(button, id) {
    const before = await state();
    const at = Date.now();
    await page.click(`#${button}`);
    say(`pressed ${button}`);
    const after = await until(`segments from ${id}`, (now) => now.pathway === id);
    const took = (Date.now() - at) / 1000;
    const allowed = Number(before.ttl) + segment + margin;
    if (took > allowed) throw new Error(`after ${button} the segments came from ${id} in ${took} s, expected ${allowed}`);
    const progress = after.time - before.time;
    if (progress < took - 1.5) throw new Error(`in the ${took} s after ${button} the picture went on by ${progress} s`);
    await plays(id);
  }

  async function picture(name, scheme, width, height) {
    await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
    await page.setViewport({ width, height, deviceScaleFactor: 1 });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) throw new Error(`the page is ${wide} wide in a window of ${width}`);
    await page.screenshot({ path: path.join(pictures, `${name}.png`), fullPage: true });
  }

  // By the keyboard: the arrow moves on from the chosen tab.
  await page.goto(demo.url);
  await demo.until('the page begins with the redirect tab', state, (now) => now.tab === 'redirect');
  await picture('redirect-light', 'light', 1280, 900);
  await page.focus('#tab-redirect');
  await page.keyboard.press('ArrowRight');
  await demo.until('the arrow leads to the steering tab', state, (now) => now.tab === 'steering');
  const focused = await page.evaluate(() => document.activeElement.id);
  if (focused !== 'tab-steering') throw new Error(`the focus is on ${focused}, expected tab-steering`);
  const { order } = await until('has a steering manifest', (now) => now.order);
  if (order !== 'near far') throw new Error(`the order is ${order}, expected near far`);
  await plays('near');
  await sees('near', { rank: '1', why: first, state: 'the player is here' });
  await sees('far', { rank: '2', why: ['not_needed', 'not_picked'], state: 'well' });
  await picture('light', 'light', 1280, 900);

  await moves('pin-far', 'far');
  await sees('far', { rank: '1', why: first, pressed: 'Pin' });
  await sees('near', { rank: '2', pressed: '', state: 'well' });
  const overrides = await page.evaluate(() => document.getElementById('overrides').textContent);
  if (!overrides.startsWith('far is pinned for another ')) throw new Error(`the overrides are ${overrides}`);
  await picture('dark', 'dark', 1280, 900);

  await moves('take-back-far', 'near');
  await moves('exclude-near', 'far');
  await sees('near', { rank: '–', why: 'excluded', pressed: 'Exclude', state: 'left out' });
  await picture('telephone-light', 'light', 360, 740);
  await page.setViewport({ width: 1280, height: 900 });
  await page.click('#drain-near'); // in the place of the exclusion: the manifest names it again, at its end
  await sees('near', { rank: '2', pressed: 'Drain', state: 'well' });
  await moves('take-back-near', 'near');

  const before = await state();
  await demo.stop('s1', 'pathway-stop-near');
  const moved = await plays('far');
  if (moved.time <= before.time) throw new Error(`the picture went from ${before.time} s back to ${moved.time} s`);
  await sees('near', { rank: '2', why: 'down', state: 'stopped' });
  await until('the manifest has far first', (now) => now.order === 'far near' && now.ttl === '2');
  await picture('telephone-dark', 'dark', 360, 740);

  await demo.start('s1', 'pathway-start-near');
  await until('the manifest has near first again', (now) => now.order === 'near far' && now.ttl === '4');
  await page.click('#steered-reload'); // hls.js itself would stay away from near for five minutes
  await plays('near');
  await page.reload();
  await demo.until('the address leads back to the steering tab', state, (now) => now.tab === 'steering');
  await until('plays on', (now) => now.steeredState === 'playing' && now.pathway);
  await page.click('#tab-redirect');
  await demo.until('the redirect tab plays and the other does not', () => demo.state('video', 'serving'), (now) =>
    now.state === 'playing' && now.steeredState === 'stopped' && now.pathway === '');
});
