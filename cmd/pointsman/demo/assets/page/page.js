// The wiring of the page. What a test wants to know stands in the body's data attributes:
// data-server and data-farm (who serves now), data-channel, data-state (see player.js).

import { Log } from './log.js';
import { Player } from './player.js';
import { Servers } from './servers.js';

const get = (id) => document.getElementById(id);
const facts = document.body.dataset;
const log = new Log(get('log'));
const servers = new Servers(get('servers'), log);

let shown = ''; // the URL prefix or name that "serving now" shows

const player = new Player(get('video'), {
  onState(state) {
    facts.state = state;
    get('state').textContent = state;
  },
  onEvent: (text) => log.add(text),
  onRedirect(url) {
    const server = servers.of(url);
    log.add(server ? `redirect → ${server.name} (farm ${server.farm})` : `manifest from ${new URL(url).host}`);
  },
  onServing(url) {
    const server = servers.of(url);
    const text = server ? `${server.name} (farm ${server.farm})` : url ? new URL(url).host : 'nobody';
    if (text === shown) return;
    shown = text;
    facts.server = server?.name ?? '';
    facts.farm = server?.farm ?? '';
    get('serving').textContent = text;
    servers.serving(facts.server);
  },
});

const chooser = get('channel');

function load() {
  const option = chooser.selectedOptions[0];
  if (!option) return;
  facts.channel = option.textContent;
  const link = get('viewer-url');
  link.href = option.value;
  link.textContent = option.value;
  log.add(`asking for ${option.textContent}`);
  player.load(option.value);
}

chooser.addEventListener('change', load);
get('reload').addEventListener('click', load);

get('copy').addEventListener('click', async () => {
  const button = get('copy');
  try {
    await navigator.clipboard.writeText(get('viewer-url').href);
    button.textContent = 'Copied';
  } catch {
    // Without permission for the clipboard, the next best thing is to select the link.
    getSelection().selectAllChildren(get('viewer-url'));
    button.textContent = 'Selected';
  }
  setTimeout(() => { button.textContent = 'Copy'; }, 2000);
});

async function begin() {
  await servers.watch();
  const answer = await fetch('api/channels');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  for (const channel of await answer.json()) chooser.append(new Option(channel.name, channel.url));
  load();
}

begin().catch((error) => log.add(`the demo does not answer: ${error.message}; reload the page`));
