// The list of servers: its state from the demo, its buttons, and which server a URL belongs to.

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

  // serving marks the named server as the one that serves; '' marks none.
  serving(name) {
    this.#serving = name;
    this.#draw();
  }

  async #press(name, action) {
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
      // Not the disabled attribute: it would take the focus away from the button that was just pressed.
      card.stop.setAttribute('aria-disabled', !server.running);
      card.start.setAttribute('aria-disabled', server.running);
    }
  }

  #card(server) {
    const element = (tag, className, ...content) => {
      const e = document.createElement(tag);
      e.className = className;
      e.append(...content);
      return e;
    };
    const button = (action, label) => {
      const b = element('button', '', `${label} ${server.name}`);
      b.type = 'button';
      b.id = `${action}-${server.name}`;
      b.addEventListener('click', () => {
        if (b.getAttribute('aria-disabled') !== 'true') this.#press(server.name, action);
      });
      return b;
    };

    const state = element('span', 'server-state');
    const served = element('span', '');
    const stop = button('stop', 'Stop');
    const start = button('start', 'Start');
    const root = element('li', 'server',
      element('p', 'server-name', `${server.name} `, element('small', '', `farm ${server.farm}`)),
      state,
      element('p', 'server-detail', server.url, document.createElement('br'),
        `has ${server.channels.join(', ') || 'no channel'} · `, served),
      element('div', 'server-buttons', stop, start));
    root.dataset.name = server.name;
    return { root, state, served, stop, start };
  }
}

// setText leaves an unchanged text alone, so that a selection in it survives the refresh.
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
