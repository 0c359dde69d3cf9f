// The track of alerts: a row for each rule, a band for each alert.

import { bySeverity, isSame, subjectOf } from "../../timeline/marks/alerts.js";
import { LEFT_GUTTER, RIGHT_GUTTER, leftGutter } from "../../types.js";
import { colorOf, drawBands } from "./bands.js";
import { AlertCard, openAlert, timesOf } from "./card.js";
import { Surface, fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/marks/alerts.js").Alert} Alert */
/** @typedef {{name: string, alerts: Alert[]}} Row */

const [ROW, BAND] = [16, 10]; // px
const NAME = 12; // px above a band, where the gutter is too narrow for names
const MOST_ROWS = 8; // the last one shows all others
const REACH = 3; // px around the mouse
const MOST_LINES = 8;
const LONGEST_MESSAGE = 160;
const FONT = "11px system-ui, sans-serif";

/** @type {Chart} */
export const alertsTrack = {
  name: "alerts",
  title: "Alerts",
  place: "timeline",
  layers: [],
  help: "A row for each rule: light while an alert is pending, dark while it fires. Click a band to see what it means and what to do.",
  create: (element, context) => new AlertsTrack(element, context),
};

class AlertsTrack {
  #element;
  #context;
  #surface;
  #tooltip;
  #card;
  /** @type {Row[]} */
  #rows = [];
  /** @type {Alert[]|null} the alerts that the rows show */
  #known = null;
  /** @type {View|null} */
  #view = null;
  #onSelect = () => this.#card.show(this.#context.alerts.selected);

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   */
  constructor(element, context) {
    this.#element = element;
    this.#context = context;
    this.#surface = new Surface(element, "Alerts in the window");
    this.#tooltip = new Tooltip(element);
    this.#card = new AlertCard(element, context);
    const { canvas } = this.#surface;
    canvas.addEventListener("pointermove", (event) => this.#hover(event));
    canvas.addEventListener("pointerleave", () => this.#tooltip.hide());
    canvas.addEventListener("click", (event) => this.#click(event));
    context.alerts.addEventListener("select", this.#onSelect);
  }

  destroy() {
    this.#context.alerts.removeEventListener("select", this.#onSelect);
    this.#element.replaceChildren();
  }

  /** Whatever the window: who moves it finds the charts below where they were. */
  isEmpty() {
    return !this.#context.alerts.list.length;
  }

  /** @param {View} view */
  draw(view) {
    if (this.#view?.tiles === view.tiles) return;
    this.#view = view;
    const { alerts } = this.#context;
    if (this.#known !== alerts.list) this.#rows = rowsOf(alerts.list);
    this.#known = alerts.list;
    const left = leftGutter();
    const lines = Math.max(this.#rows.length, 1);
    this.#surface.clear(left + view.width + RIGHT_GUTTER, lines * this.#rowHeight);
    const { context } = this.#surface;
    const colors = theme();
    const x = (/** @type {number} */ time) => this.#x(time);
    context.font = FONT;
    for (let line = 0; line < lines; line++) {
      const middle = (line + 1) * this.#rowHeight - ROW / 2;
      context.strokeStyle = colors.border;
      context.beginPath();
      context.moveTo(left, middle + 0.5);
      context.lineTo(left + view.width, middle + 0.5);
      context.stroke();
      const row = this.#rows[line];
      if (!row) continue;
      this.#drawName(row.name, middle, view.width);
      drawBands(context, alerts, row.alerts, x, [left, left + view.width], middle - BAND / 2, BAND);
      this.#drawSelected(row, middle, [left, left + view.width]);
    }
    this.#describe(alerts.between(view.start, view.stop));
  }

  get #isNarrow() {
    return leftGutter() < LEFT_GUTTER;
  }

  get #rowHeight() {
    return this.#isNarrow && this.#rows.length ? ROW + NAME : ROW;
  }

  /**
   * @param {string} name
   * @param {number} middle
   * @param {number} width of the plot
   */
  #drawName(name, middle, width) {
    const { context } = this.#surface;
    const left = leftGutter();
    context.fillStyle = theme().muted;
    if (this.#isNarrow) return context.fillText(fitText(context, name, width), left, middle - BAND / 2 - 3);
    context.textAlign = "right";
    context.fillText(fitText(context, name, left - 12), left - 8, middle + 4);
    context.textAlign = "start";
  }

  /**
   * @param {Row} row
   * @param {number} middle
   * @param {[number, number]} range of x that is drawn
   */
  #drawSelected(row, middle, [least, most]) {
    const { selected } = this.#context.alerts;
    if (!selected || !row.alerts.some((alert) => isSame(alert, selected))) return;
    const [from, to] = this.#edges(selected);
    const [left, right] = [Math.max(from, least), Math.min(to, most)];
    const { context } = this.#surface;
    context.strokeStyle = theme().text;
    if (right > left) context.strokeRect(left - 0.5, middle - BAND / 2 - 1.5, right - left + 1, BAND + 3);
  }

  /** @param {Alert[]} inSight */
  #describe(inSight) {
    const names = [...new Set(inSight.map((alert) => alert.rule))].slice(0, MOST_LINES);
    const label = inSight.length
      ? `${inSight.length} alerts in the window: ${names.join(", ")}`
      : "No alert in the window";
    this.#surface.canvas.setAttribute("aria-label", label);
  }

  /** @param {number} time */
  #x(time) {
    const view = this.#view;
    if (!view) return NaN;
    return leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
  }

  /** @param {Alert} alert @returns {[number, number]} px */
  #edges(alert) {
    return [this.#x(alert.pending), this.#x(this.#context.alerts.endOf(alert))];
  }

  /** @param {MouseEvent} event @returns {{x: number, y: number, near: Alert[]}} the most severe first */
  #near(event) {
    const { left, top } = this.#surface.canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - left, event.clientY - top];
    const row = this.#rows[Math.floor(y / this.#rowHeight)];
    const near = (row?.alerts ?? []).filter((alert) => {
      const [from, to] = this.#edges(alert);
      return from - REACH <= x && to + REACH >= x;
    });
    return { x, y, near: x < leftGutter() ? [] : near.sort(bySeverity).reverse() };
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const { x, y, near } = this.#near(event);
    this.#surface.canvas.style.cursor = near.length ? "pointer" : "";
    if (!near.length) return this.#tooltip.hide();
    /** @type {[string, string, string?][]} */
    const lines = near.slice(0, MOST_LINES).map((alert) => {
      const { message = "", acknowledged_by: by } = alert;
      const short = message.length > LONGEST_MESSAGE ? `${message.slice(0, LONGEST_MESSAGE)}…` : message;
      const words = [alert.rule, subjectOf(alert), short, by ? `Assignee: ${by}` : ""];
      return [timesOf(alert), words.filter(Boolean).join(" · "), colorOf(alert.severity)];
    });
    if (near.length > MOST_LINES) lines.push(["", `and ${near.length - MOST_LINES} more`]);
    this.#tooltip.show(
      x,
      y,
      near.length === 1 ? `${near[0].severity}: ${near[0].rule}` : `${near.length} alerts`,
      lines,
    );
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const [alert] = this.#near(event).near;
    if (!alert) return;
    this.#tooltip.hide();
    openAlert(this.#context, alert);
    event.preventDefault();
  }
}

/**
 * @param {Alert[]} alerts
 * @returns {Row[]} of the rules, the most severe first
 */
function rowsOf(alerts) {
  /** @type {Map<string, Alert[]>} */
  const byRule = new Map();
  for (const alert of [...alerts].sort(bySeverity).reverse())
    byRule.set(alert.rule, [...(byRule.get(alert.rule) ?? []), alert]);
  const rows = [...byRule].map(([name, found]) => ({ name, alerts: found }));
  if (rows.length <= MOST_ROWS) return rows;
  const others = rows.slice(MOST_ROWS - 1);
  return [
    ...rows.slice(0, MOST_ROWS - 1),
    { name: `${others.length} more rules`, alerts: others.flatMap((row) => row.alerts) },
  ];
}
