// Opens pages of player.html in a headless Chromium, as it is told by lines of JSON on its input; to each it answers
// with a line of JSON, {"failed": "..."} when it could not be done:
//
//   {"do": "open", "url": URL}          loads the page in a new tab, in front, in the place of the one before
//   {"do": "report"}                    what report() of the page promises, and beside it
//                                       polls, the answers to steering requests, and wrong, the page's errors
//   {"do": "screenshot", "file": PATH}  writes a PNG
//
// At the end of its input it closes the browser and ends.
//
//   node players.mjs CHROMIUM PROFILE STEERING
//
// CHROMIUM is the browser's path, PROFILE a new empty directory for its profile, STEERING the path under which
// steering manifests are.

import readline from 'node:readline';
import puppeteer from 'puppeteer-core';

const [executablePath, userDataDir, steering] = process.argv.slice(2);

// A pipe, so that the browser ends with this process however that ends.
const browser = await puppeteer.launch({
  executablePath,
  userDataDir,
  pipe: true,
  protocolTimeout: 60_000, // ms, for one command on a busy machine
  args: [
    '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
    '--disable-component-update', '--disable-sync', '--autoplay-policy=no-user-gesture-required',
  ],
});

let page; // only ever one: hidden tabs do not open a MediaSource
let polls, wrong;

const commands = {
  async open({ url }) {
    await page?.close();
    polls = [];
    wrong = [];
    page = await browser.newPage();
    page.on('pageerror', (error) => wrong.push(error.stack ?? String(error)));
    page.on('response', (response) => keep(polls, response));
    await page.goto(url);
  },
  async report() {
    return { ...(await page.evaluate(() => report())), polls: polls.filter((poll) => poll.body !== undefined), wrong };
  },
  async screenshot({ file }) {
    await page.screenshot({ path: file });
  },
};

// keep keeps the answer to a steering request, in the order in which they came.
async function keep(polls, response) {
  if (!new URL(response.url()).pathname.startsWith(`${steering}/`)) return;
  const poll = { at: Date.now(), url: response.url(), status: response.status() };
  polls.push(poll);
  poll.body = await response.text().catch((error) => `unread: ${error}`);
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  let answer;
  try {
    answer = (await commands[command.do](command)) ?? {};
  } catch (error) {
    answer = { failed: error.stack };
  }
  console.log(JSON.stringify(answer));
}
await browser.close();
