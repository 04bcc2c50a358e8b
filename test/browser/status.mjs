// Uses the status page in a headless Chromium as the person on call does. It exits 1 with a word about what was expected.
//
//   node status.mjs SCENE ADMIN CONTROL TOKENS CHROMIUM PROFILE SHOTS
//
// SCENE is one of the functions below, ADMIN the URL of the admin listener, CONTROL that of the test, which kills a
// server when asked to; TOKENS are the tokens for reading and acting with a comma between, PROFILE a new empty
// directory for the browser's profile and SHOTS a directory for screenshots.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import puppeteer from 'puppeteer-core';

const [scene, admin, control, tokens, executablePath, userDataDir, shots] = process.argv.slice(2);
const [readToken, actToken] = tokens.split(',');
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const patience = 30_000; // ms, for one thing to happen on a busy machine
const begun = Date.now();

function say(...words) {
  console.log(((Date.now() - begun) / 1000).toFixed(1).padStart(5), ...words);
}

function expect(holds, what) {
  if (!holds) throw new Error(what);
  say('ok:', what);
}

// A pipe, so that the browser ends with this process however that ends.
const browser = await puppeteer.launch({
  executablePath,
  userDataDir,
  pipe: true,
  args: ['--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-background-networking', '--disable-component-update', '--disable-sync'],
});

const wrong = [];
let failed = false;
try {
  const page = await open();
  await { large, rich }[scene](page);
  if (wrong.length > 0) throw new Error(wrong.join('\n'));
  say('no page error, no console error');
} catch (error) {
  say('FAILED', error.stack);
  failed = true;
} finally {
  await browser.close();
}
process.exit(failed ? 1 : 0);

async function open() {
  const page = await browser.newPage();
  page.setDefaultTimeout(patience);
  await page.authenticate({ username: 'on call', password: readToken });
  page.on('pageerror', (error) => wrong.push(`page error: ${error.stack}`));
  page.on('console', (message) => {
    if (message.type() !== 'error' && message.type() !== 'warning') return;
    const from = message.location()?.url ?? '';
    // The browser itself reports an action that is refused for want of the token.
    const expected = message.text().includes('status of 401') && from.startsWith(`${admin}/admin/`);
    say(expected ? 'console, as expected:' : 'console:', message.text(), from);
    if (!expected) wrong.push(`console ${message.type()}: ${message.text()} ${from}`);
  });
  await page.setViewport({ width: 1280, height: 900 });
  return page;
}

// large: 1,000 servers, of which one dies, one is drained, and the page follows without being loaded again.
async function large(page) {
  await page.goto(`${admin}/status`, { waitUntil: 'load' });
  await page.waitForFunction(() => document.getElementById('live').textContent === 'Live');
  const { ScriptDuration, LayoutDuration, RecalcStyleDuration, TaskDuration } = await page.metrics();
  const seconds = (n) => `${n.toFixed(3)} s`;
  say('first paint: scripting', seconds(ScriptDuration), 'layout', seconds(LayoutDuration), 'styles', seconds(RecalcStyleDuration), 'all tasks', seconds(TaskDuration));
  expect(ScriptDuration < 0.5, `scripting up to the first update takes ${seconds(ScriptDuration)}, at most 0.5 s`);

  await page.screenshot({ path: path.join(shots, 'large.png') });
  const rows = await page.$$eval('table.servers tbody tr', (list) => list.map((row) => ({
    name: row.querySelector('.name').textContent,
    state: row.cells[1].textContent.trim(), since: row.cells[2].textContent.trim(), probe: row.cells[5].textContent.trim(),
  })));
  expect(rows.length === 1002, `${rows.length} rows, one for each of 1,002 servers`);
  const bare = rows.filter((row) => !row.name || !row.state || !row.since || !/\d/.test(row.probe));
  expect(bare.length === 0, `each row has name, state, since and last probe; without: ${JSON.stringify(bare.slice(0, 3))}`);

  await page.evaluate(() => {
    window.notLoadedAgain = true;
    window.rowOf = (name) => [...document.querySelectorAll('table.servers tbody tr')].find((row) => row.querySelector('.name').textContent === name);
  });
  const died = Date.now();
  await fetch(`${control}/kill`, { method: 'POST' });
  await page.waitForFunction(() => rowOf('victim').cells[1].textContent.trim() === 'down', { polling: 20 });
  const took = Date.now() - died;
  expect(took < 2000, `the page shows a server down ${took} ms after it died, at most 2,000`);
  expect(await page.$eval('#attention', (part) => part.textContent.includes('victim')), 'it is listed among those that are not up');
  expect(/refused|reset/.test(await page.evaluate(() => rowOf('victim').cells[3].textContent)), 'the row says why');

  await drainByKeyboard(page);
  expect(await page.evaluate(() => window.notLoadedAgain === true), 'the page was not loaded again');

  await page.type('#filter', 's77');
  const shown = await page.$$eval('table.servers tbody tr', (list) => list.filter((row) => row.checkVisibility()).length);
  expect(shown === 11, `the filter s77 leaves ${shown} rows: s77 and s770 to s779`);
}

// drainByKeyboard drains server s5 without a mouse: first without the token, then with it.
async function drainByKeyboard(page) {
  await page.evaluate(() => rowOf('s5').querySelector('button').focus());
  await page.keyboard.press('Enter');
  await page.waitForSelector('#act[open]');
  expect(await page.$eval('#act-title', (title) => title.textContent) === 'Server s5', 'the dialog names the server');
  for (const token of ['', 'wrong']) {
    await page.$eval('#act-token', (input, value) => { input.value = value; }, token);
    await page.focus('#act-go');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => document.getElementById('act-said').textContent.startsWith('401'));
    expect(await page.evaluate(() => rowOf('s5').cells[1].textContent.trim()) === 'up', `with the token "${token}" the action is refused`);
  }
  await page.$eval('#act-token', (input) => { input.value = ''; input.focus(); });
  await page.keyboard.type(actToken);
  await page.keyboard.press('Enter');
  await page.waitForFunction(() => !document.getElementById('act').open);
  await page.waitForFunction(() => rowOf('s5').cells[1].textContent.includes('draining'));
  expect(await page.evaluate(() => rowOf('s5').cells[1].textContent.includes('by the operator')), 'with the token the server drains, by the operator');
  expect(await page.evaluate(() => document.activeElement === rowOf('s5').querySelector('button')), 'the focus is on the button again');
}

// rich: a bit of everything, looked at for accessibility in each form, with a screenshot of each.
async function rich(page) {
  const pages = {
    status: '/status',
    explain: '/explain?ip=127.0.0.1&url=/news/index.m3u8&ua=VLC',
    recordings: '/status/coverage?channel=film',
    channels: '/status/coverage',
    question: '/explain',
  };
  for (const [name, target] of Object.entries(pages)) {
    for (const [form, width, scheme] of [['light', 1280, 'light'], ['dark', 1280, 'dark'], ['phone', 390, 'light'], ['phone-dark', 390, 'dark']]) {
      await page.setViewport({ width, height: 900 });
      await page.emulateMediaFeatures([{ name: 'prefers-color-scheme', value: scheme }]);
      await page.goto(admin + target, { waitUntil: 'load' });
      if (name === 'status') await page.waitForFunction(() => document.getElementById('live').textContent === 'Live');
      await page.screenshot({ path: path.join(shots, `${name}-${form}.png`), fullPage: true });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(wide <= width, `${name} is ${wide} pixels wide on ${width}`);
      await accessible(page, `${name} ${form}`);
    }
  }

  await page.goto(`${admin}/status`, { waitUntil: 'load' });
  await page.waitForFunction(() => document.getElementById('live').textContent === 'Live');
  await page.click('button.act[data-pathway="far"]');
  await page.waitForSelector('#act[open]');
  await page.screenshot({ path: path.join(shots, 'dialog-phone-dark.png') });
  await accessible(page, 'the dialog');
  await page.type('#act-token', actToken);
  await page.click('#act-go');
  await page.waitForFunction(() => document.getElementById('steering').textContent.includes('pin here'));
  say('ok: a pathway is pinned, and the page says so');
  await page.type('#purge input', 'news');
  await page.click('#purge button');
  await page.waitForSelector('#act[open]');
  await page.click('#act-go');
  await page.waitForFunction(() => !document.getElementById('act').open);
  say('ok: a channel is forgotten');

  // Without scripts everything but the buttons is there.
  const plain = await open();
  await plain.setJavaScriptEnabled(false);
  await plain.goto(`${admin}/status`, { waitUntil: 'load' });
  const text = await plain.$eval('main', (main) => main.innerText);
  for (const part of ['Not up', 'Farm near', 'pin here', 'farm_down', 'The last reload was refused']) {
    expect(text.includes(part), `without scripts the page says "${part}"`);
  }
  expect(await plain.$$eval('button.act', (list) => list.every((button) => !button.checkVisibility())), 'without scripts no button is shown that does nothing');
  await plain.screenshot({ path: path.join(shots, 'status-without-scripts.png'), fullPage: true });
}

// accessible has axe-core look at the page; it may find nothing serious.
async function accessible(page, what) {
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  for (const v of violations) say(`axe, ${what}: ${v.impact} ${v.id}: ${v.help}; ${v.nodes.slice(0, 3).map((n) => `${n.target} ${n.failureSummary}`).join(' | ')}`);
  const serious = violations.filter((v) => v.impact === 'serious' || v.impact === 'critical');
  expect(serious.length === 0, `${what} has no serious violation by axe-core (of ${violations.length})`);
}
