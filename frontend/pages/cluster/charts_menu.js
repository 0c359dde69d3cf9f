// The menu of charts: which ones the tab shows, ready-made selections, and those of other tabs.

import { marks } from "../../tabs/marks.js";
import { element } from "../../element.js";
import { PRESETS } from "./presets.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("./arrangement.js").Arrangement} Arrangement */

export class ChartsMenu {
  #items = element("div", "menu-items");
  #menu = element("details", "menu charts-menu", element("summary", "", "Charts"), this.#items);
  #arrangement;
  #content;
  #onChange;

  /**
   * @param {HTMLElement} header
   * @param {Arrangement} arrangement
   * @param {() => {own: Chart[], others: Chart[], hasPresets: boolean}} content charts of the open tab, and of other tabs
   * @param {() => void} onChange called when others are shown
   */
  constructor(header, arrangement, content, onChange) {
    this.#arrangement = arrangement;
    this.#content = content;
    this.#onChange = onChange;
    this.#menu.addEventListener("toggle", () => this.fill());
    header.append(this.#menu);
  }

  /** Fills the menu while it is open: its many elements would delay the page. */
  fill() {
    if (!this.#menu.open) return;
    const { own, others, hasPresets } = this.#content();
    const reset = button("As this tab has them", () => this.#arrangement.reset(), this.#onChange);
    reset.disabled = !this.#arrangement.isChanged;
    this.#items.replaceChildren(
      ...(hasPresets ? [this.#presets()] : []),
      element("div", "own-charts", ...own.map((chart) => this.#choice(chart))),
      reset,
    );
    if (!others.length) return;
    const list = element("div", "", ...others.map((chart) => this.#choice(chart)));
    const more = element("details", "other-charts", element("summary", "", "Of other tabs"), list);
    more.open = others.some(({ name }) => this.#arrangement.has(name));
    this.#items.append(more);
  }

  #presets() {
    const names = marks.map(({ name }) => name);
    const buttons = Object.entries(PRESETS).map(([title, charts]) => {
      const set = () => this.#arrangement.set([...names, ...charts].map((name) => ({ name, height: null })));
      return button(title, set, this.#onChange);
    });
    const group = element("div", "chart-presets", ...buttons);
    group.role = "group";
    group.ariaLabel = "Ready-made selections";
    return group;
  }

  /** @param {Chart} chart */
  #choice({ name, title, help }) {
    const box = element("input", "");
    box.type = "checkbox";
    box.checked = this.#arrangement.has(name);
    box.addEventListener("change", () => {
      if (box.checked) this.#arrangement.show(name);
      else this.#arrangement.hide(name);
      this.#onChange();
    });
    const label = element("label", "", box, title);
    label.title = help;
    return label;
  }
}

/**
 * @param {string} text
 * @param {() => void} act
 * @param {() => void} onChange
 */
function button(text, act, onChange) {
  const made = element("button", "", text);
  made.type = "button";
  made.addEventListener("click", () => {
    act();
    onChange();
  });
  return made;
}
