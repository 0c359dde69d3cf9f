// The tabs of the timeline: each shows other charts of the same window, playhead and selection.
// The server renders them as links, with the other pages of the cluster or run.

import { DEFAULT_TAB } from "../../contract.js";
import { tabOf } from "../../timeline/address.js";

/** @typedef {import("../../contract.js").TabName} TabName */
/** @typedef {import("../../timeline/address.js").Address} Address */

export class Tabs {
  #address;
  #onChange;
  /** @type {HTMLAnchorElement[]} */
  #links;

  /**
   * @param {Address} address knows which is open
   * @param {() => void} onChange called when another one was opened
   */
  constructor(address, onChange) {
    this.#address = address;
    this.#onChange = onChange;
    this.#links = [...document.querySelectorAll("a[data-tab]")].map(
      (link) => /** @type {HTMLAnchorElement} */ (link),
    );
    for (const link of this.#links) {
      link.addEventListener("click", (event) => this.#click(event, nameOf(link)));
      // another browser tab shows the same view
      for (const kind of ["pointerdown", "focus", "contextmenu"]) {
        link.addEventListener(kind, () => (link.href = location.pathname + address.query(nameOf(link))));
      }
    }
    // a link shares some tabs only
    if (!this.#has(address.tab)) address.showTab(DEFAULT_TAB);
    this.#mark();
    window.addEventListener("popstate", () => this.#goBack());
  }

  /** @param {MouseEvent} event @param {TabName} name */
  #click(event, name) {
    if (event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (name === this.#address.tab) return;
    this.#address.openTab(name);
    this.#mark();
    this.#onChange();
  }

  /** Back and forward change the tab; window, playhead and selection stay. */
  #goBack() {
    const name = tabOf(location.search);
    if (name === this.#address.tab || !this.#has(name)) return;
    this.#address.showTab(name);
    this.#mark();
    this.#onChange();
  }

  /** Those that the page has: a link shares some of them only. */
  get names() {
    return this.#links.map(nameOf);
  }

  /** @param {TabName} name */
  #has(name) {
    return this.#links.some((link) => nameOf(link) === name);
  }

  #mark() {
    for (const link of this.#links) {
      if (nameOf(link) === this.#address.tab) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  }
}

/** @param {HTMLAnchorElement} link */
function nameOf(link) {
  return /** @type {TabName} */ (link.dataset.tab);
}
