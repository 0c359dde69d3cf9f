// The tooltip beside the mouse.

const DISTANCE = 14; // px from the mouse

export class Tooltip {
  #box = document.createElement("div");
  #shown = "";

  /** @param {HTMLElement} parent positioned */
  constructor(parent) {
    this.#box.className = "tooltip";
    this.#box.hidden = true;
    parent.append(this.#box);
  }

  /**
   * @param {number} x in px of the parent
   * @param {number} y
   * @param {string} title
   * @param {[string, string, string?][]} lines name, value and the colour of a swatch
   */
  show(x, y, title, lines) {
    const content = JSON.stringify([title, lines]);
    if (content !== this.#shown) this.#fill(title, lines);
    this.#shown = content;
    this.#box.hidden = false;
    const parent = /** @type {HTMLElement} */ (this.#box.offsetParent ?? this.#box.parentElement);
    const [width, height] = [this.#box.offsetWidth, this.#box.offsetHeight];
    const right = x + DISTANCE + width <= parent.clientWidth;
    const left = right ? x + DISTANCE : Math.max(0, x - DISTANCE - width);
    const below = parent.getBoundingClientRect().top + y + DISTANCE + height <= window.innerHeight;
    this.#box.style.left = `${left}px`;
    this.#box.style.top = `${below ? y + DISTANCE : y - DISTANCE - height}px`;
  }

  hide() {
    this.#box.hidden = true;
  }

  /**
   * @param {string} title
   * @param {[string, string, string?][]} lines
   */
  #fill(title, lines) {
    const heading = document.createElement("strong");
    heading.textContent = title;
    const list = document.createElement("dl");
    for (const [name, value, color] of lines) {
      const term = document.createElement("dt");
      if (color) {
        const swatch = document.createElement("i");
        swatch.style.backgroundColor = color;
        term.append(swatch);
      }
      term.append(name);
      const description = document.createElement("dd");
      description.textContent = value;
      list.append(term, description);
    }
    this.#box.replaceChildren(heading, list);
  }
}
