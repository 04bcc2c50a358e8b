// What the tests of the demo page share: a headless Chromium on the page, and what one does there.

import puppeteer from 'puppeteer-core';

const patience = 30_000; // ms, for one thing to happen on a busy machine
const begun = Date.now();

export function say(...words) {
  console.log(((Date.now() - begun) / 1000).toFixed(1).padStart(5), ...words);
}

// run has test play with a new Demo, which must not show an error, and ends the process with 1 when that failed.
export async function run(test) {
  const [pageURL, executablePath, userDataDir] = process.argv.slice(2);
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
    const demo = new Demo(await browser.newPage(), pageURL);
    await test(demo);
    if (demo.wrong.length > 0) throw new Error(demo.wrong.join('\n'));
    say('no page error, no console error');
  } catch (error) {
    say('FAILED', error.stack);
    failed = true;
  } finally {
    await browser.close();
  }
  process.exit(failed ? 1 : 0);
}

class Demo {
  wrong = []; // errors of the page
  #stopped = []; // base URLs of the servers that were stopped at any time

  constructor(page, url) {
    this.page = page;
    this.url = url;
    page.on('pageerror', (error) => this.wrong.push(`page error: ${error.stack}`));
    page.on('console', (message) => {
      if (message.type() !== 'error') return;
      const text = message.text();
      const from = message.location()?.url ?? '';
      // The browser itself reports every connection that a stopped server refuses or breaks off.
      const expected = text.startsWith('Failed to load resource: net::ERR_') && this.#stopped.some((base) => from.startsWith(`${base}/`));
      say(expected ? 'console, as expected:' : 'console:', text, from);
      if (!expected) this.wrong.push(`console error: ${text} ${from}`);
    });
  }

  // state returns what the page tells in its data attributes, and how far the picture in the video is and what it shows
  // in the element shown.
  state(video, shown) {
    return this.page.evaluate((video, shown) => {
      const { currentTime, videoWidth } = document.getElementById(video);
      return { ...document.body.dataset, time: currentTime, width: videoWidth, shown: document.getElementById(shown).textContent };
    }, video, shown);
  }

  // until waits until what state returns holds, and returns it.
  async until(what, state, holds) {
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

  async server(name) {
    const list = await (await fetch(new URL('api/servers', this.url))).json();
    return list.find((s) => s.name === name);
  }

  // stop and start press the server's button, which is found by its id.
  async stop(name, button = `stop-${name}`) {
    this.#stopped.push((await this.server(name)).url);
    await this.#press(name, button, false);
  }

  async start(name, button = `start-${name}`) {
    await this.#press(name, button, true);
  }

  async #press(name, button, running) {
    await this.page.click(`#${button}`);
    const deadline = Date.now() + patience;
    while ((await this.server(name)).running !== running) {
      if (Date.now() > deadline) throw new Error(`after ${button}, ${name} is not ${running ? 'running' : 'stopped'}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    say(`pressed ${button}`);
  }
}
