// The tabs of the page, as the ARIA authoring practices have them: one tab is in the tab order, arrow keys, Home and End
// move between them. The chosen one stands behind the # of the page's address, so that loading the page again, or a link,
// comes back to it.

export class Tabs {
  #tabs;
  #onChoice;
  #chosen = '';

  // tabs are the elements with role tab. The panel of each is what its aria-controls names, and its data-name is what
  // stands in the address: no element has that id, so that the browser does not scroll to it. onChoice gets the name.
  constructor(tabs, onChoice) {
    this.#tabs = [...tabs];
    this.#onChoice = onChoice;
    for (const tab of this.#tabs) {
      tab.addEventListener('click', () => this.#choose(tab, true));
      tab.addEventListener('keydown', (event) => this.#key(event));
    }
    addEventListener('hashchange', () => this.begin());
  }

  // begin chooses the tab that the address names, else the first.
  begin() {
    const name = location.hash.slice(1);
    this.#choose(this.#tabs.find((tab) => tab.dataset.name === name) ?? this.#tabs[0], false);
  }

  #choose(chosen, inAddress) {
    if (chosen.dataset.name === this.#chosen) return;
    this.#chosen = chosen.dataset.name;
    for (const tab of this.#tabs) {
      const is = tab === chosen;
      tab.setAttribute('aria-selected', is);
      tab.tabIndex = is ? 0 : -1;
      document.getElementById(tab.getAttribute('aria-controls')).hidden = !is;
    }
    if (inAddress) history.replaceState(null, '', `#${this.#chosen}`); // no entry to go back to
    this.#onChoice(this.#chosen);
  }

  #key(event) {
    const last = this.#tabs.length - 1;
    const at = this.#tabs.indexOf(event.currentTarget);
    const next = { ArrowRight: at === last ? 0 : at + 1, ArrowLeft: at === 0 ? last : at - 1, Home: 0, End: last }[event.key];
    if (next === undefined || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    this.#tabs[next].focus();
    this.#choose(this.#tabs[next], true);
  }
}
