// Plays the demo page in a headless Chromium, stops the server that serves by its button and expects the
// picture to go on from another one. It exits 1 with a word about what was expected.
//
//   node demo.mjs PAGE CHROMIUM PROFILE
//
// PAGE is the page's URL, CHROMIUM the browser's path, PROFILE a new empty directory for its profile.

import { run, say } from './demorig.mjs';

await run(async (demo) => {
  const { page } = demo;
  const until = (what, holds) => demo.until(what, () => demo.state('video', 'serving'), holds);

  // plays waits until a server other than the given one plays, for a while, and returns its name.
  async function plays(notFrom) {
    const first = await until(notFrom ? `plays, and not from ${notFrom}` : 'plays', (now) =>
      now.state === 'playing' && now.server && now.server !== notFrom && now.width > 0);
    const servedBefore = (await demo.server(first.server)).served.segments;
    const later = await until('goes on for 3 s', (now) => now.state === 'playing' && now.time > first.time + 3);
    if (later.server !== first.server) throw new Error(`it moved from ${first.server} to ${later.server} by itself`);
    if (!later.shown.startsWith(later.server)) throw new Error(`the page shows ${later.shown}, expected ${later.server}`);
    const served = (await demo.server(first.server)).served.segments;
    if (served <= servedBefore) throw new Error(`${first.server} has given ${served} segments, and ${servedBefore} 3 s earlier`);
    return first.server;
  }

  await page.goto(demo.url);
  const first = await plays();

  await demo.stop(first);
  await page.click('#reload');
  say('pressed reload');
  const second = await plays(first);

  await demo.start(first);
  await demo.stop(second);
  await page.reload();
  say('loaded the whole page again');
  const third = await plays(second);

  await demo.stop(third); // and nobody presses anything else
  await demo.start(second);
  await plays(third);
});
