// The list of servers: its state from the demo, its buttons, and which server a URL belongs to.

import { button, element, setEnabled, setText } from './elements.js';

const refreshEvery = 1000; // ms

export class Servers {
  #list;
  #log;
  #servers = [];
  #serving = '';
  #cards = new Map();
  #reachable = true;

  constructor(list, log) {
    this.#list = list;
    this.#log = log;
  }

  // watch reads the state now and then for as long as the page lives. It returns after the first reading.
  async watch() {
    await this.refresh();
    const again = async () => {
      if (!document.hidden) await this.refresh();
      setTimeout(again, refreshEvery);
    };
    setTimeout(again, refreshEvery);
  }

  async refresh() {
    try {
      const answer = await fetch('api/servers', { signal: AbortSignal.timeout(5000) });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      this.#servers = await answer.json();
      if (!this.#reachable) this.#log.add('the demo answers again');
      this.#reachable = true;
    } catch (error) {
      if (this.#reachable) this.#log.add(`the demo does not answer: ${error.message}`);
      this.#reachable = false;
    }
    this.#draw();
  }

  // of returns the server that url leads to, or undefined.
  of(url) {
    return this.#servers.find((server) => url.startsWith(`${server.url}/`));
  }

  // named returns the server of this name, or undefined.
  named(name) {
    return this.#servers.find((server) => server.name === name);
  }

  // serving marks the named server as the one that serves; '' marks none.
  serving(name) {
    this.#serving = name;
    this.#draw();
  }

  // press starts or stops the named server.
  async press(name, action) {
    try {
      const answer = await fetch(`api/servers/${encodeURIComponent(name)}/${action}`, { method: 'POST' });
      if (!answer.ok) {
        const said = await answer.json().catch(() => ({}));
        throw new Error(said.error ?? `status ${answer.status}`);
      }
      this.#log.add(`you ${action === 'stop' ? 'stopped' : 'started'} ${name}`);
    } catch (error) {
      this.#log.add(`could not ${action} ${name}: ${error.message}`);
    }
    await this.refresh();
  }

  #draw() {
    for (const server of this.#servers) {
      let card = this.#cards.get(server.name);
      if (!card) {
        card = this.#card(server);
        this.#cards.set(server.name, card);
        this.#list.append(card.root);
      }
      const serves = server.name === this.#serving;
      card.root.dataset.running = server.running;
      card.root.dataset.serving = serves;
      setText(card.state, server.running ? (serves ? 'serving' : 'running') : 'stopped');
      setText(card.served, `${server.served.playlists} playlists, ${server.served.segments} segments`);
      setEnabled(card.stop, server.running);
      setEnabled(card.start, !server.running);
    }
  }

  #card(server) {
    const make = (action, label) => button(`${action}-${server.name}`, `${label} ${server.name}`, () => this.press(server.name, action));

    const state = element('span', 'card-state');
    const served = element('span', '');
    const stop = make('stop', 'Stop');
    const start = make('start', 'Start');
    const root = element('li', 'card server',
      element('p', 'card-name', `${server.name} `, element('small', '', `farm ${server.farm}`)),
      state,
      element('p', 'card-detail', server.url, document.createElement('br'),
        `has ${server.channels.join(', ') || 'no channel'} · `, served),
      element('div', 'card-buttons', stop, start));
    root.dataset.name = server.name;
    return { root, state, served, stop, start };
  }
}
