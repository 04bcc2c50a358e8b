// The wiring of the page. What a test wants to know stands in the body's data attributes: data-tab; of the redirect tab
// data-server and data-farm (who serves now), data-channel, data-state (see player.js); of the steering tab data-pathway
// (whose segments the player gets), data-order, data-ttl and data-polls (its steering manifests), data-steered-state.

import { copies } from './elements.js';
import { Log } from './log.js';
import { Player } from './player.js';
import { Servers } from './servers.js';
import { Steering } from './steering.js';
import { Tabs } from './tabs.js';

const get = (id) => document.getElementById(id);
const facts = document.body.dataset;
const log = new Log(get('log'));
const servers = new Servers(get('servers'), log);
const steering = new Steering(get, servers, log, facts);

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

const steeredPlayer = new Player(get('steered-video'), {
  onState(state) {
    facts.steeredState = state;
    get('steered-state').textContent = state;
    if (state === 'loading') steering.begins();
  },
  onEvent: (text) => log.add(text),
  onRedirect(url) {
    const server = servers.of(url);
    log.add(server ? `redirect → ${server.name}: the playlist could not be decorated` : `decorated playlist from ${new URL(url).host}`);
  },
  onServing: (url) => steering.fetched(url),
  onManifest: (manifest) => steering.got(manifest),
  onPenalty: (url) => steering.penalized(url),
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

function loadSteered() {
  log.add('asking for the steered playlist');
  steeredPlayer.load(get('steered-url').href);
}

chooser.addEventListener('change', load);
get('reload').addEventListener('click', load);
get('steered-reload').addEventListener('click', loadSteered);
copies(get('copy'), get('viewer-url'));
copies(get('steered-copy'), get('steered-url'));

// Only the player that is seen plays.
const tabs = new Tabs(document.querySelectorAll('[role="tab"]'), async (name) => {
  facts.tab = name;
  const steered = name === 'steering';
  (steered ? player : steeredPlayer).stop();
  await steering.show(steered);
  if (facts.tab !== name) return; // somebody was quicker
  if (steered) loadSteered();
  else load();
});

async function begin() {
  await servers.watch();
  const answer = await fetch('api/channels');
  if (!answer.ok) throw new Error(`status ${answer.status}`);
  for (const channel of await answer.json()) chooser.append(new Option(channel.name, channel.url));
  const link = get('steered-url');
  link.textContent = link.href = await steering.begin();
  tabs.begin();
}

begin().catch((error) => log.add(`the demo does not answer: ${error.message}; reload the page`));
