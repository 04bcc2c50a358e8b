// The steering tab's state: the player's own steering manifests and requests on one side, what the redirector says of
// its pathways and of the overrides in force on the other.

import { Pathways } from './pathways.js';
import { setText } from './elements.js';

const askEvery = 1000; // ms: what the redirector says
const drawEvery = 250; // ms: what runs down meanwhile
const overrideFor = 120; // s
const penaltyFor = 300; // s: fixed in hls.js

const done = { pin: 'pinned', exclude: 'excluded', drain: 'drained' };

export class Steering {
  #get;
  #servers;
  #log;
  #facts;
  #cards;
  #settings; // channel, url and manifest, as the demo has them
  #shown = false;
  #reachable = true;

  #explained = { farms: [], pathways: [] };
  #overrides = [];
  #manifest = null; // the player's newest: order, ttl, at
  #polls = 0;
  #here = '';
  #penalties = new Map(); // pathway -> performance.now() of its end

  // get finds an element by its id; facts are the body's data attributes.
  constructor(get, servers, log, facts) {
    this.#get = get;
    this.#servers = servers;
    this.#log = log;
    this.#facts = facts;
    this.#cards = new Pathways(get('pathways'), {
      override: (id, action) => this.#override(id, action),
      takeBack: (id) => this.#takeBack(id),
      press: (server, action) => servers.press(server, action),
    });
  }

  // begin reads the settings, and the pathways now and then while the tab is shown. It returns the viewer's link.
  async begin() {
    this.#settings = await json(await fetch('api/steering'));
    const again = async () => {
      if (this.#shown && !document.hidden) await this.#ask();
      setTimeout(again, askEvery);
    };
    setTimeout(again, askEvery);
    setInterval(() => { if (this.#shown) this.#draw(); }, drawEvery);
    return this.#settings.url;
  }

  // show says whether the tab is shown.
  async show(shown) {
    this.#shown = shown;
    if (shown) await this.#ask();
  }

  // The player's events.

  // begins forgets what a player knew: a new one has taken its place.
  begins() {
    this.#manifest = null;
    this.#polls = 0;
    this.#penalties.clear();
    this.#tell();
    this.#draw();
  }

  got(manifest) {
    const order = manifest['PATHWAY-PRIORITY'];
    if (order.join() !== this.#manifest?.order.join()) this.#log.add(`steering manifest: ${order.join(', then ')}`);
    this.#manifest = { order, ttl: manifest.TTL, at: performance.now() };
    this.#polls += 1;
    this.#tell();
    this.#draw();
  }

  // fetched takes the URL of a segment that the player got, or '' when it gets none.
  fetched(url) {
    const here = url && this.#pathwayOf(url);
    if (here === undefined || here === this.#here) return; // undefined: the redirector's own answer
    this.#here = here;
    const server = this.#servers.of(url);
    if (here) this.#log.add(`segments from pathway ${here}${server ? ` (server ${server.name})` : ''}`);
    setText(this.#get('pathway'), here ? `${here}${server ? ` (server ${server.name})` : ''}` : 'nobody');
    this.#tell();
    this.#draw();
  }

  penalized(url) {
    const id = this.#pathwayOf(url);
    if (!id) return;
    // hls.js counts from the first failure on.
    if (!(this.#penalties.get(id) > performance.now())) this.#penalties.set(id, performance.now() + penaltyFor * 1000);
    this.#log.add(`pathway ${id} failed: the player leaves it alone for ${penaltyFor / 60} min`);
    this.#draw();
  }

  #pathwayOf(url) {
    return this.#explained.farms.find((farm) => farm.servers.some((server) => url.startsWith(`${server.url}/`)))?.name;
  }

  // The redirector.

  async #ask() {
    const about = new URLSearchParams({ ip: '127.0.0.1', url: this.#settings.manifest, ua: navigator.userAgent });
    try {
      [this.#explained, this.#overrides] = await Promise.all([
        ask(`api/steering/explain?${about}`),
        ask('api/steering/admin/pathways'),
      ]);
      if (!this.#reachable) this.#log.add('the redirector that steers answers again');
      this.#reachable = true;
    } catch (error) {
      if (this.#reachable) this.#log.add(`the redirector that steers does not answer: ${error.message}`);
      this.#reachable = false;
    }
    this.#draw();
  }

  async #override(id, action) {
    const until = new Date(Date.now() + overrideFor * 1000).toISOString();
    await this.#act(`you ${done[action]} pathway ${id} for ${overrideFor / 60} min`, id, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ action, until }),
    });
  }

  async #takeBack(id) {
    await this.#act(`you took back the override of pathway ${id}`, id, { method: 'DELETE' });
  }

  async #act(what, id, request) {
    try {
      this.#overrides = await ask(`api/steering/admin/pathways/${encodeURIComponent(id)}`, request);
      this.#log.add(what);
    } catch (error) {
      this.#log.add(`could not override pathway ${id}: ${error.message}`);
    }
    await this.#ask();
  }

  // The page.

  #tell() {
    this.#facts.pathway = this.#here;
    this.#facts.order = this.#manifest?.order.join(' ') ?? '';
    this.#facts.ttl = this.#manifest?.ttl ?? '';
    this.#facts.polls = this.#polls;
  }

  #draw() {
    const now = performance.now();
    const manifest = this.#manifest;
    setText(this.#get('order'), manifest?.order.join(', then ') ?? 'none yet');
    setText(this.#get('ttl'), manifest ? `${manifest.ttl} s` : '–');
    const left = manifest ? (manifest.at + manifest.ttl * 1000 - now) / 1000 : 0;
    setText(this.#get('next-poll'), manifest ? `${Math.max(left, 0).toFixed(1)} s` : '–');

    const order = this.#explained.pathways ?? [];
    this.#cards.draw(this.#explained.farms.map((farm) => {
      const server = farm.servers[0]; // the demo's pathways are of one server each
      const at = order.findIndex((pathway) => pathway.id === farm.name);
      const known = this.#servers.named(server.name);
      return {
        id: farm.name,
        rank: at + 1, // 0: not in the manifest
        why: order[at]?.why ?? server.why,
        detail: server.detail,
        well: order[at]?.well ?? false,
        here: farm.name === this.#here,
        server: server.name,
        url: server.url,
        running: known?.running ?? true,
        override: this.#overrides.find((o) => o.pathway === farm.name && !o.location && !o.channel)?.action ?? '',
        penalty: Math.max((this.#penalties.get(farm.name) ?? 0) - now, 0) / 1000,
      };
    }));
    this.#drawOverrides();
  }

  #drawOverrides() {
    const lines = this.#overrides.map((o) => {
      const who = [o.location && `location ${o.location}`, o.channel && `channel ${o.channel}`].filter(Boolean).join(', ');
      const left = o.until ? `for another ${clock((Date.parse(o.until) - Date.now()) / 1000)}` : 'without end';
      return `${o.pathway} is ${done[o.action]} ${left}${who ? ` (${who})` : ''}`;
    });
    if (lines.length === 0) lines.push('none: the order is the redirector’s own');
    const list = this.#get('overrides');
    while (list.children.length > lines.length) list.lastChild.remove();
    lines.forEach((line, i) => {
      if (!list.children[i]) list.append(document.createElement('li'));
      setText(list.children[i], line);
    });
  }
}

async function ask(url, request = {}) {
  return json(await fetch(url, { ...request, signal: AbortSignal.timeout(5000) }));
}

async function json(answer) {
  if (answer.ok) return answer.json();
  const said = await answer.json().catch(() => ({}));
  throw new Error(said.error ?? `status ${answer.status}`);
}

// clock writes seconds as 1:05.
function clock(seconds) {
  const whole = Math.max(Math.ceil(seconds), 0);
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`;
}
