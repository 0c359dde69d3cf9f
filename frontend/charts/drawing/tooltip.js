// The tooltip beside the mouse. It is placed in the window, so that nothing cuts it and nothing that stays in sight covers it.

const DISTANCE = 14; // px from the mouse
const MARGIN = 4; // px to the edges of the window

export class Tooltip {
  #box = document.createElement("div");
  #parent;
  #shown = "";

  /** @param {HTMLElement} parent */
  constructor(parent) {
    this.#parent = parent;
    this.#box.className = "tooltip";
    this.#box.hidden = true;
    parent.append(this.#box);
  }

  /**
   * @param {number} x in px from the parent's left edge
   * @param {number} y from its top
   * @param {string} title
   * @param {[string, string, string?][]} lines name, value and the colour of a swatch
   */
  show(x, y, title, lines) {
    const { clientWidth, clientHeight } = document.documentElement;
    const content = JSON.stringify([title, lines, clientWidth, clientHeight]);
    this.#box.hidden = false;
    if (content !== this.#shown) this.#fill(title, lines, clientHeight - 2 * MARGIN);
    this.#shown = content;
    const origin = this.#parent.getBoundingClientRect();
    const { offsetWidth, offsetHeight } = this.#box;
    this.#box.style.left = `${placeBeside(origin.left + x, offsetWidth, clientWidth)}px`;
    this.#box.style.top = `${placeBeside(origin.top + y, offsetHeight, clientHeight)}px`;
  }

  hide() {
    this.#box.hidden = true;
  }

  /**
   * @param {string} title
   * @param {[string, string, string?][]} lines
   * @param {number} room px: lines that have none are counted
   */
  #fill(title, lines, room) {
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
    const more = document.createElement("small");
    for (let left = 1; this.#box.offsetHeight > room && list.children.length > 2; left++) {
      list.lastChild?.remove();
      list.lastChild?.remove();
      more.textContent = `and ${left} more`;
      this.#box.append(more);
    }
  }
}

/**
 * Where the tooltip begins: after the mouse, or before it where there is no room, but always in the window.
 * @param {number} mouse px of the window
 * @param {number} length of the tooltip
 * @param {number} room of the window
 */
function placeBeside(mouse, length, room) {
  const fits = mouse + DISTANCE + length + MARGIN <= room;
  const place = fits ? mouse + DISTANCE : mouse - DISTANCE - length;
  return Math.max(Math.min(place, room - MARGIN - length), MARGIN);
}
