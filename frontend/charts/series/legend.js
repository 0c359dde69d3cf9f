// The legend of a chart. A click on a worker selects it.

/** @typedef {import("./series_chart.js").Line} Line */

const MOST = 12;

export class Legend {
  #list = document.createElement("ul");
  #shown = "";
  #choose;

  /**
   * @param {HTMLElement} parent
   * @param {(slot: string|null) => void} choose
   */
  constructor(parent, choose) {
    this.#choose = choose;
    this.#list.className = "legend";
    parent.append(this.#list);
  }

  /**
   * @param {Line[]} lines
   * @param {string|null} selected slot
   */
  show(lines, selected) {
    const content = JSON.stringify([lines.map((line) => [line.label, line.color, line.slot]), selected]);
    if (content === this.#shown) return;
    this.#shown = content;
    const entries = lines.slice(0, MOST).map((line) => this.#entry(line, selected));
    if (lines.length > MOST) {
      const rest = document.createElement("li");
      rest.textContent = `and ${lines.length - MOST} more`;
      entries.push(rest);
    }
    this.#list.replaceChildren(...entries);
  }

  /**
   * @param {Line} line
   * @param {string|null} selected
   */
  #entry(line, selected) {
    const swatch = document.createElement("i");
    swatch.style.backgroundColor = line.color;
    const item = document.createElement("li");
    if (line.slot === null) {
      item.append(swatch, line.label);
      return item;
    }
    const isSelected = line.slot === selected;
    const button = document.createElement("button");
    button.type = "button";
    button.setAttribute("aria-pressed", String(isSelected));
    button.append(swatch, line.label);
    button.addEventListener("click", () => this.#choose(isSelected ? null : line.slot));
    item.append(button);
    return item;
  }
}
