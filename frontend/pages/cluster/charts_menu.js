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
  /** @type {(() => void)[]} show in the menu what is so now: its elements stay, and with them the focus */
  #updates = [];

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
    this.#updates = [];
    if (!this.#menu.open) return;
    const { own, others, hasPresets } = this.#content();
    this.#items.replaceChildren(
      ...(hasPresets ? [this.#presets()] : []),
      element("div", "own-charts", ...own.map((chart) => this.#choice(chart))),
      this.#reset(),
      ...(others.length ? [this.#others(others)] : []),
    );
    this.update();
  }

  /** Shows which charts are shown now. */
  update() {
    for (const update of this.#updates) update();
  }

  #presets() {
    const names = marks.map(({ name }) => name);
    const buttons = Object.entries(PRESETS).map(([title, charts]) => {
      const places = [...names, ...charts].map((name) => ({ name, height: null }));
      const preset = this.#button(title, () => this.#arrangement.set(places));
      this.#updates.push(() => (preset.ariaPressed = String(this.#arrangement.is(places))));
      return preset;
    });
    const group = element("div", "chart-presets", ...buttons);
    group.role = "group";
    group.ariaLabel = "Ready-made selections";
    return group;
  }

  #reset() {
    const reset = this.#button("As this tab has them", () => this.#arrangement.reset());
    this.#updates.push(() => (reset.ariaPressed = String(!this.#arrangement.isChanged)));
    return reset;
  }

  /** @param {Chart[]} charts */
  #others(charts) {
    const list = element("div", "", ...charts.map((chart) => this.#choice(chart)));
    const others = element("details", "other-charts", element("summary", "", "Of other tabs"), list);
    others.open = charts.some(({ name }) => this.#arrangement.has(name));
    return others;
  }

  /** @param {Chart} chart */
  #choice({ name, title, help, showsState }) {
    const box = element("input", "");
    box.type = "checkbox";
    box.addEventListener("change", () => {
      if (box.checked) this.#arrangement.show(name);
      else this.#arrangement.hide(name);
      this.#onChange();
    });
    this.#updates.push(() => (box.checked = this.#arrangement.has(name)));
    const label = element("label", "", box, showsState ? `${title}, at the playhead` : title);
    label.title = help;
    return label;
  }

  /**
   * @param {string} text
   * @param {() => void} act
   */
  #button(text, act) {
    const button = element("button", "", text);
    button.type = "button";
    button.addEventListener("click", () => {
      act();
      this.#onChange();
    });
    return button;
  }
}
