// The list of runs to tick.

import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { formatDate } from "../../timeline/times.js";

/** @typedef {import("./run_lists.js").Run} Run */
/** @typedef {import("./run_lists.js").RunList} RunList */

/** Fires "change" when the person ticks other runs. */
export class RunChoice extends EventTarget {
  element = element("div", "run-choice");
  #most;
  /** @type {number[]} */
  #chosen = [];
  #shown = "";

  /** @param {number} most runs that may be ticked */
  constructor(most) {
    super();
    this.#most = most;
  }

  /** The ids of the ticked runs, in the order in which they were ticked. */
  get chosen() {
    return this.#chosen;
  }

  /**
   * @param {RunList[]} lists
   * @param {number[]} chosen ids
   * @param {number} cluster id of the page's: others are named
   * @param {(id: number) => string|undefined} colorOf a run that is drawn
   */
  show(lists, chosen, cluster, colorOf) {
    this.#chosen = chosen;
    const content = JSON.stringify([
      lists.map(({ title, runs }) => [title, runs.map((run) => [run.id, run.name, whenOf(run)])]),
      chosen.map((id) => [id, colorOf(id)]),
    ]);
    if (content === this.#shown) return;
    this.#shown = content;
    const focused = this.element.contains(document.activeElement)
      ? /** @type {HTMLInputElement} */ (document.activeElement).value
      : "";
    const groups = lists
      .filter(({ runs }) => runs.length)
      .map(({ title, runs }) => this.#group(title, runs, cluster, colorOf));
    const { scrollTop } = this.element;
    this.element.replaceChildren(...groups);
    this.element.scrollTop = scrollTop;
    if (focused) this.#box(focused)?.focus();
  }

  /** @param {string} value */
  #box(value) {
    return [...this.element.querySelectorAll("input")].find((box) => box.value === value);
  }

  /**
   * @param {string} title
   * @param {Run[]} runs
   * @param {number} cluster
   * @param {(id: number) => string|undefined} colorOf
   */
  #group(title, runs, cluster, colorOf) {
    const items = runs.map((run) =>
      this.#item(run, run.cluster === cluster ? "" : run.cluster_name, colorOf(run.id)),
    );
    return element("fieldset", "", element("legend", "", title), ...items);
  }

  /**
   * @param {Run} run
   * @param {string} elsewhere the name of its cluster, if that is another one
   * @param {string|undefined} color
   */
  #item(run, elsewhere, color) {
    const box = element("input", "");
    box.type = "checkbox";
    box.value = String(run.id);
    box.checked = this.#chosen.includes(run.id);
    box.disabled = !box.checked && this.#chosen.length >= this.#most;
    box.addEventListener("change", () => this.#tick(run.id, box.checked));
    const swatch = element("i", "swatch");
    if (color) swatch.style.backgroundColor = color;
    const when = [whenOf(run), elsewhere && `on ${elsewhere}`].filter(Boolean).join(" · ");
    return element(
      "label",
      "",
      box,
      swatch,
      element("span", "", `${run.name} #${run.id}`, element("small", "", when)),
    );
  }

  /**
   * @param {number} id
   * @param {boolean} isTicked
   */
  #tick(id, isTicked) {
    const rest = this.#chosen.filter((other) => other !== id);
    this.#chosen = isTicked ? [...rest, id] : rest;
    this.dispatchEvent(new Event("change"));
  }
}

/** @param {Run} run */
function whenOf({ start, stop }) {
  return `${formatDate(start)}, ${stop === null ? "still running" : formatDuration(stop - start)}`;
}
