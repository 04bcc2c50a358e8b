// The log of the page: what happened, newest first, and no more of it than one wants to read.

const keep = 60;

export class Log {
  #list;

  constructor(list) {
    this.#list = list;
  }

  add(text) {
    const now = new Date();
    const time = document.createElement('time');
    time.dateTime = now.toISOString();
    time.textContent = now.toLocaleTimeString('en-GB');
    const line = document.createElement('li');
    line.append(time, ' ', text);
    this.#list.prepend(line);
    while (this.#list.children.length > keep) this.#list.lastChild.remove();
  }
}
