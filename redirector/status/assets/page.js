// Puts what the server has drawn anew in its place, and sends the operator's actions. The page says
// everything without it.
'use strict';

document.documentElement.classList.add('scripted');
const main = document.getElementById('main');
if (main.dataset.number) {
  followUpdates();
  filterServers();
  offerActions();
}

// followUpdates listens to the server-sent events that tell what changed since the page was drawn.
function followUpdates() {
  const live = document.getElementById('live');
  let number = main.dataset.number;
  let off; // tells after a while that nothing comes any more

  // say tells how the page stands; it is read out, so it is not repeated.
  function say(text, isOff) {
    if (live.textContent !== text) live.textContent = text;
    live.classList.toggle('off', isOff);
  }

  function connect() {
    const events = new EventSource(`/status/events?since=${encodeURIComponent(number)}`);
    events.onmessage = (message) => {
      const update = JSON.parse(message.data);
      number = message.lastEventId;
      if (update.reload) {
        events.close();
        loadAgain();
        return;
      }
      apply(update);
      clearTimeout(off);
      off = undefined;
      say('Live', false);
    };
    events.onerror = () => {
      off ??= setTimeout(() => say('No updates come: the page is as it was', true), 3000);
      if (events.readyState === EventSource.CLOSED) setTimeout(connect, 5000);
    };
  }

  // loadAgain is for another table of servers; it does not take a dialog away from under somebody's hands.
  function loadAgain() {
    const dialog = document.getElementById('act');
    if (!dialog.open) {
      location.reload();
      return;
    }
    say('The configuration is another one now', true);
    dialog.addEventListener('close', () => location.reload());
  }

  connect();
}

function apply(update) {
  for (const [id, html] of Object.entries(update.parts ?? {})) {
    const part = document.getElementById(id);
    if (!part) continue;
    const focused = part.contains(document.activeElement) ? pathOf(document.activeElement, part) : undefined;
    const scrolled = part.querySelector('.wrap')?.scrollLeft;
    part.innerHTML = html;
    if (scrolled) part.querySelector('.wrap')?.scrollTo({ left: scrolled });
    if (focused) find(focused, part)?.focus({ preventScroll: true });
  }
  if (!update.rows) return;
  const template = document.createElement('template');
  template.innerHTML = update.rows.join('');
  for (const row of template.content.querySelectorAll('tr')) {
    const old = document.getElementById(row.id);
    if (!old) continue;
    // The first cell, with the button, never changes: who is on it stays there.
    for (let i = 1; i < old.cells.length; i++) {
      if (old.cells[i].innerHTML !== row.cells[1].innerHTML) old.cells[i].replaceWith(row.cells[1]);
      else row.cells[1].remove();
    }
  }
}

// pathOf and find carry the focus over a part that is drawn anew.
function pathOf(element, part) {
  return [...part.querySelectorAll('a, button, [tabindex]')].indexOf(element);
}

function find(index, part) {
  return part.querySelectorAll('a, button, [tabindex]')[index];
}

// filterServers hides the rows that do not have what is typed.
function filterServers() {
  const input = document.getElementById('filter');
  input.addEventListener('input', () => {
    const wanted = input.value.trim().toLowerCase();
    for (const farm of document.querySelectorAll('section.farm')) {
      let shown = 0;
      for (const row of farm.querySelectorAll('tbody tr')) {
        row.hidden = wanted !== '' && !row.textContent.toLowerCase().includes(wanted);
        if (!row.hidden) shown++;
      }
      farm.hidden = shown === 0;
    }
  });
}

// offerActions opens the dialog of a button and sends what was chosen in it. The token stays in this
// tab's memory.
function offerActions() {
  const dialog = document.getElementById('act');
  const form = document.getElementById('act-form');
  const said = document.getElementById('act-said');
  const [what, until, place, channel, token] = ['what', 'until', 'location', 'channel', 'token']
    .map((name) => document.getElementById(`act-${name}`));
  const needsToken = main.dataset.actToken === 'true';
  const key = 'pointsman-act-token';
  let send; // what the open dialog does

  const servers = [['draining', 'Drain: keep its sessions, take no new ones'], ['disabled', 'Disable: send nobody'],
    ['enabled', 'Enable'], ['', 'As configured'], ['recheck', 'Recheck now']];
  const pathways = [['pin', 'Pin: before all others while it is well'], ['exclude', 'Exclude: not at all while another remains'],
    ['drain', 'Drain: after all others that are well'], ['', 'Take the word about it back']];

  function open(title, choices, isPathway, action) {
    document.getElementById('act-title').textContent = title;
    what.replaceChildren(...choices.map(([value, text]) => new Option(text, value)));
    what.parentElement.hidden = choices.length === 1;
    for (const field of form.querySelectorAll('[data-for="pathway"]')) field.hidden = !isPathway;
    form.querySelector('[data-for="token"]').hidden = !needsToken;
    token.value = sessionStorage.getItem(key) ?? '';
    said.textContent = '';
    send = action;
    showUntil();
    dialog.showModal();
  }

  function showUntil() {
    form.querySelector('[data-for="until"]').hidden = ['', 'recheck', 'purge'].includes(what.value);
  }
  what.addEventListener('change', showUntil);

  document.addEventListener('click', (event) => {
    const button = event.target.closest?.('button.act');
    if (!button) return;
    const { server, pathway } = button.dataset;
    if (server !== undefined) {
      open(`Server ${server}`, servers, false, () => actOnServer(server));
    } else {
      place.value = button.dataset.location;
      channel.value = '';
      open(`Pathway ${pathway}`, pathways, true, () => actOnPathway(pathway));
    }
  });

  document.getElementById('purge').addEventListener('submit', (event) => {
    event.preventDefault();
    const name = event.target.elements.channel.value;
    open(`Forget channel ${name}`, [['purge', '']], false, () => call('POST', '/admin/contents/purge', { channel: name }));
  });

  document.getElementById('act-cancel').addEventListener('click', () => dialog.close());
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    if (needsToken) sessionStorage.setItem(key, token.value);
    said.textContent = '';
    try {
      await send();
      dialog.close();
      const live = document.getElementById('live');
      live.textContent = 'Done';
    } catch (error) {
      said.textContent = error.message;
    }
  });

  const end = () => (until.value ? { until: Math.floor(Date.now() / 1000) + Number(until.value) } : {});

  function actOnServer(name) {
    const path = `/admin/servers/${encodeURIComponent(name)}`;
    switch (what.value) {
      case 'recheck': return call('POST', `${path}/recheck`);
      case '': return call('DELETE', path);
      default: return call('POST', path, { state: what.value, ...end() });
    }
  }

  function actOnPathway(id) {
    const path = `/admin/pathways/${encodeURIComponent(id)}`;
    const scope = { location: place.value.trim(), channel: channel.value.trim() };
    if (what.value === '') return call('DELETE', `${path}?${new URLSearchParams(scope)}`);
    return call('POST', path, { action: what.value, ...scope, ...end() });
  }

  async function call(method, path, body) {
    const headers = { 'Content-Type': 'application/json', Accept: 'application/json' };
    if (needsToken) headers.Authorization = `Bearer ${token.value}`;
    const answer = await fetch(path, { method, headers, body: body && JSON.stringify(body), credentials: 'omit' });
    const text = await answer.json().catch(() => ({}));
    if (!answer.ok) throw new Error(`${answer.status}: ${text.error ?? answer.statusText}`);
  }
}
