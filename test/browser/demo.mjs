// Plays the demo page in a headless Chromium, stops the server that serves by its button and expects the
// picture to go on from another one. It exits 1 with a word about what was expected.
//
//   node demo.mjs PAGE CHROMIUM PROFILE
//
// PAGE is the page's URL, CHROMIUM the browser's path, PROFILE a new empty directory for its profile.

import puppeteer from 'puppeteer-core';

const [pageURL, executablePath, userDataDir] = process.argv.slice(2);
const patience = 30_000; // ms, for one thing to happen on a busy machine
const begun = Date.now();

function say(...words) {
  console.log(((Date.now() - begun) / 1000).toFixed(1).padStart(5), ...words);
}

// A pipe, so that the browser ends with this process however that ends.
const browser = await puppeteer.launch({
  executablePath,
  userDataDir,
  pipe: true,
  args: [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required',
  ],
});

let failed = false;
try {
  await test(await browser.newPage());
} catch (error) {
  say('FAILED', error.stack);
  failed = true;
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);

async function test(page) {
  const stopped = []; // base URLs of the servers that were stopped at any time
  const wrong = [];
  page.on('pageerror', (error) => wrong.push(`page error: ${error.stack}`));
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    const text = message.text();
    const url = message.location()?.url ?? '';
    // The browser itself reports every connection that a stopped server refuses or breaks off.
    const expected = text.startsWith('Failed to load resource: net::ERR_') && stopped.some((base) => url.startsWith(`${base}/`));
    say(expected ? 'console, as expected:' : 'console:', text, url);
    if (!expected) wrong.push(`console error: ${text} ${url}`);
  });

  // state returns what the page tells in its data attributes, and how far the picture is.
  const state = () => page.evaluate(() => {
    const video = document.getElementById('video');
    return { ...document.body.dataset, time: video.currentTime, width: video.videoWidth, shown: document.getElementById('serving').textContent };
  });

  async function until(what, holds) {
    const deadline = Date.now() + patience;
    for (;;) {
      const now = await state();
      if (holds(now)) {
        say(what, JSON.stringify(now));
        return now;
      }
      if (Date.now() > deadline) throw new Error(`not in ${patience / 1000} s: ${what}; the page says ${JSON.stringify(now)}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  // plays waits until a server other than the given one plays, for a while, and returns its name.
  async function plays(notFrom) {
    const first = await until(notFrom ? `plays, and not from ${notFrom}` : 'plays', (now) =>
      now.state === 'playing' && now.server && now.server !== notFrom && now.width > 0);
    const servedBefore = (await server(first.server)).served.segments;
    const later = await until('goes on for 3 s', (now) => now.state === 'playing' && now.time > first.time + 3);
    if (later.server !== first.server) throw new Error(`it moved from ${first.server} to ${later.server} by itself`);
    if (!later.shown.startsWith(later.server)) throw new Error(`the page shows ${later.shown}, expected ${later.server}`);
    const served = (await server(first.server)).served.segments;
    if (served <= servedBefore) throw new Error(`${first.server} has given ${served} segments, and ${servedBefore} 3 s earlier`);
    return first.server;
  }

  async function server(name) {
    const list = await (await fetch(new URL('api/servers', pageURL))).json();
    return list.find((s) => s.name === name);
  }

  async function press(action, name) {
    await page.click(`#${action}-${name}`);
    const deadline = Date.now() + patience;
    while ((await server(name)).running !== (action === 'start')) {
      if (Date.now() > deadline) throw new Error(`the button does not ${action} ${name}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    say(`pressed ${action} ${name}`);
  }

  async function stop(name) {
    stopped.push((await server(name)).url);
    await press('stop', name);
  }

  await page.goto(pageURL);
  const first = await plays();

  await stop(first);
  await page.click('#reload');
  say('pressed reload');
  const second = await plays(first);

  await press('start', first);
  await stop(second);
  await page.reload();
  say('loaded the whole page again');
  const third = await plays(second);

  await stop(third); // and nobody presses anything else
  await press('start', second);
  await plays(third);

  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  say('no page error, no console error');
}
