// The alerts of the window as a list, for screen readers and the keyboard.

import { element } from "../../element.js";
import { stateOf, subjectOf } from "../../timeline/marks/alerts.js";
import { isoTime } from "../chart_menu/table.js";
import { listItem } from "../side_list/items.js";
import { openAlert, timesOf } from "./card.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/marks/alerts.js").Alert} Alert */

const MOST = 100;

/** @type {Chart} */
export const alertsList = {
  name: "alerts-list",
  title: "Alerts in the window",
  place: "side",
  layers: [],
  help: "Alerts that fired or were pending in the window. Click one to go to it and to see what to do.",
  create: (element, context) => new AlertsList(element, context),
};

class AlertsList {
  #element;
  #context;
  #list = element("ul", "side-list");
  #note = element("p", "notes-empty muted");
  /** @type {Alert[]|null} */
  #shown = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    parent.append(this.#list, this.#note);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  isEmpty({ start, stop }) {
    return !this.#context.alerts.between(start, stop).length;
  }

  /** @param {View} view */
  draw(view) {
    const { alerts } = this.#context;
    const found = alerts.between(view.start, view.stop);
    const shown = found.slice(-MOST);
    this.#note.textContent = this.#words(found.length);
    const known = this.#shown;
    if (known && known.length === shown.length && shown.every((alert, place) => alert === known[place]))
      return;
    this.#shown = shown;
    this.#list.replaceChildren(...shown.map((alert) => this.#item(alert)));
  }

  table() {
    const time = (/** @type {number|null} */ at) => (at === null ? null : isoTime(at));
    const rows = (this.#shown ?? []).map((alert) => {
      const { rule, severity, pending, fired, resolved, message = "" } = alert;
      return [rule, severity, isoTime(pending), time(fired), time(resolved), message];
    });
    return {
      columns: ["rule", "severity", "pending since (UTC)", "fired (UTC)", "resolved (UTC)", "message"],
      rows,
    };
  }

  /** @param {number} found */
  #words(found) {
    if (found > MOST) return `The last ${MOST} of ${found}.`;
    if (found) return "";
    const all = this.#context.alerts.list.length;
    return all ? `None in the window, ${all} in total.` : "None.";
  }

  /** @param {Alert} alert */
  #item(alert) {
    const state = stateOf(alert);
    const text = [state === "firing" ? state : "", subjectOf(alert), timesOf(alert)]
      .filter(Boolean)
      .join(" · ");
    const open = () => openAlert(this.#context, alert);
    return listItem(alert.rule, `${alert.severity}, ${state}`, text, open, `severity ${alert.severity}`);
  }
}
