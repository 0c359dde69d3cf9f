// Clusters and window of a back-test: by default the newest clusters of the rule's scope.

import { element } from "../../element.js";
import { formatDate } from "../../timeline/times.js";
import { Choices } from "./choices.js";

/** @typedef {{cluster: number, name: string, of: string, start: number, stop: number, live?: boolean}} Place */

const MARGIN = 60; // s shown around a run

export class PlaceChoice {
  #section;
  #changed;
  #chosen;
  #all;

  /**
   * @param {HTMLElement} section
   * @param {() => void} changed
   */
  constructor(section, changed) {
    this.#section = section;
    this.#changed = changed;
    this.#chosen = /** @type {HTMLElement} */ (section.querySelector(".back-test-chosen"));
    this.#all = this.#chosen.textContent ?? "";
    const input = /** @type {HTMLInputElement} */ (section.querySelector(".back-test-where input"));
    const list = /** @type {HTMLElement} */ (section.querySelector("#back-test-places"));
    new Choices(input, list, offered, ({ value }) => {
      input.value = "";
      this.#choose(value);
    });
    for (const bound of this.#bounds()) bound.addEventListener("change", () => this.#readBounds());
    this.showBounds();
  }

  /** Shows the bounds of a custom window, with defaults if they are empty. */
  showBounds() {
    const custom = this.#window().value === "custom";
    /** @type {HTMLElement} */ (this.#section.querySelector(".back-test-custom")).hidden = !custom;
    if (custom && !this.#hidden("start").value) this.#setBounds(Date.now() / 1000 - 3600, Date.now() / 1000);
  }

  /** @param {Place} place */
  #choose({ cluster, name, of, start, stop, live }) {
    const known = this.#section.querySelector(`[name="back-test-clusters"][value="${cluster}"]`);
    if (!known) {
      const input = element("input", "");
      [input.type, input.name, input.value] = ["hidden", "back-test-clusters", String(cluster)];
      const remove = element("button", "chip-remove", "×");
      remove.type = "button";
      remove.setAttribute("aria-label", `Remove ${name}`);
      const chip = element("span", "chip", live === undefined ? of : name, input, remove);
      remove.addEventListener("click", () => {
        chip.remove();
        if (!this.#chosen.querySelector(".chip")) this.#chosen.replaceChildren(this.#all);
        this.#changed();
      });
      if (!this.#chosen.querySelector(".chip")) this.#chosen.replaceChildren("on ");
      this.#chosen.append(chip);
    }
    if (!live) {
      this.#window().value = "custom";
      this.#setBounds(start - MARGIN, stop + MARGIN);
      this.showBounds();
    }
    this.#changed();
  }

  #window() {
    return /** @type {HTMLSelectElement} */ (this.#section.querySelector("[name=back-test-window]"));
  }

  #bounds() {
    return /** @type {HTMLInputElement[]} */ ([...this.#section.querySelectorAll("[data-bound]")]);
  }

  /** @param {string} bound @returns {HTMLInputElement} */
  #hidden(bound) {
    return /** @type {HTMLInputElement} */ (this.#section.querySelector(`[name="back-test-${bound}"]`));
  }

  #readBounds() {
    for (const bound of this.#bounds()) {
      const time = new Date(bound.value).getTime() / 1000;
      this.#hidden(bound.dataset.bound ?? "").value = Number.isFinite(time) ? String(time) : "";
    }
  }

  /** @param {number} start @param {number} stop */
  #setBounds(start, stop) {
    for (const bound of this.#bounds()) {
      const time = bound.dataset.bound === "start" ? Math.floor(start) : Math.ceil(stop);
      bound.value = formatDate(time).replace(" ", "T");
      this.#hidden(bound.dataset.bound ?? "").value = String(time);
    }
  }
}

/** @param {string} text @returns {Promise<import("./choices.js").Choice[]>} */
async function offered(text) {
  const url = /** @type {HTMLElement} */ (document.getElementById("rule")).dataset.places ?? "";
  const answer = await fetch(`${url}?${new URLSearchParams({ q: text })}`).catch(() => null);
  if (!answer?.ok) return [];
  const { runs, clusters } = await answer.json();
  const choice = (/** @type {string} */ group) => (/** @type {Place} */ place) => ({
    text: place.name,
    detail: `${place.of}, ${formatDate(place.start)}${place.live ? ", live" : ""}`,
    group,
    value: place,
  });
  return [...clusters.map(choice("Clusters")), ...runs.map(choice("Runs"))];
}
