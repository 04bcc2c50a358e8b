// The cards of the pathways, with their buttons. They stay where they are whatever the order, which their number shows,
// so that no button moves away from under a finger.

import { button, element, setEnabled, setText } from './elements.js';

// In words what the redirector's whys mean here; of others its own detail tells.
const meanings = {
  chosen: 'the redirector’s first choice',
  kept: 'the redirector’s first choice, as before',
  not_picked: 'stands ready',
  not_needed: 'stands ready',
  unanswered: 'has not answered yet',
  warming: 'its server has just come back',
  set_aside: 'behind the others, by an override',
  excluded: 'left out, by an override',
};

const actions = { pin: 'Pin', exclude: 'Exclude', drain: 'Drain' };

export class Pathways {
  #list;
  #on;
  #cards = new Map();

  // on has the functions override(id, action), takeBack(id) and press(server, action).
  constructor(list, on) {
    this.#list = list;
    this.#on = on;
  }

  // draw takes the pathways in the order of their cards.
  draw(pathways) {
    for (const pathway of pathways) {
      let card = this.#cards.get(pathway.id);
      if (!card) {
        card = this.#card(pathway);
        this.#cards.set(pathway.id, card);
        this.#list.append(card.root);
      }
      card.root.dataset.serving = pathway.here;
      card.root.dataset.running = pathway.running;
      setText(card.rank, pathway.rank || '–');
      card.rank.title = pathway.rank ? `number ${pathway.rank} in the next manifest` : 'not in the next manifest';
      setText(card.state, standing(pathway));
      setText(card.why, pathway.why);
      setText(card.meaning, meanings[pathway.why] ?? pathway.detail.replace(`${pathway.why} `, '')); // not "down down for 3s"
      card.penalty.hidden = pathway.penalty === 0;
      if (pathway.penalty > 0) {
        setText(card.penalty, `It failed, so hls.js leaves it alone for ${Math.ceil(pathway.penalty / 60)} min, whatever the order. Reload the player to end that.`);
      }
      for (const [action, b] of Object.entries(card.actions)) b.setAttribute('aria-pressed', pathway.override === action);
      setEnabled(card.takeBack, pathway.override !== '');
      setEnabled(card.stop, pathway.running);
      setEnabled(card.start, !pathway.running);
    }
  }

  #card({ id, server, url }) {
    const rank = element('span', 'rank');
    const state = element('span', 'card-state');
    const why = element('code', '');
    const meaning = element('span', '');
    const penalty = element('p', 'card-note');
    const card = { rank, state, why, meaning, penalty, actions: {} };
    for (const [action, label] of Object.entries(actions)) {
      card.actions[action] = named(button(`${action}-${id}`, label, () => this.#on.override(id, action)), `${label} ${id}`);
    }
    card.takeBack = named(button(`take-back-${id}`, 'Take back', () => this.#on.takeBack(id)), `Take back the override of ${id}`);
    card.stop = button(`pathway-stop-${id}`, `Stop ${server}`, () => this.#on.press(server, 'stop'));
    card.start = button(`pathway-start-${id}`, `Start ${server}`, () => this.#on.press(server, 'start'));
    card.root = element('li', 'card pathway',
      element('p', 'card-name', rank, ` ${id} `, element('small', '', `server ${server}`)),
      state,
      element('p', 'card-detail', why, ' ', meaning, document.createElement('br'), url),
      penalty,
      element('div', 'card-buttons override-buttons', ...Object.values(card.actions), card.takeBack),
      element('div', 'card-buttons', card.stop, card.start));
    card.root.dataset.id = id;
    return card;
  }
}

function standing({ here, running, rank, well }) {
  if (here) return 'the player is here';
  if (!running) return 'stopped';
  if (rank === 0) return 'left out';
  return well ? 'well' : 'not well';
}

function named(button, name) {
  button.setAttribute('aria-label', name);
  return button;
}
