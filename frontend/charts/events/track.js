// The track of events: workers that joined, left or were lost, errors, and gaps.

import { formatCount } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { drawMarks, markOf } from "./marks.js";
import { messageOf, repeated } from "./repeated.js";
import { drawGaps } from "../drawing/gaps.js";
import { OVERVIEW } from "../overview/overview.js";
import { workerLabel } from "../../timeline/slots.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { isoTime } from "../chart_menu/table.js";
import { drawUnloaded } from "../drawing/unloaded.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/marks/events.js").ClusterEvent} ClusterEvent */

const HEIGHT = 20;
const MARK_SIZE = 10;
const REACH = 7; // px around the mouse
const MOST_LINES = 8;

/** @type {Chart} */
export const eventsTrack = {
  name: "events",
  title: "Events",
  quantity: "worker-lost",
  place: "timeline",
  layers: ({ events }) => (events.areCounted ? ["events"] : []),
  help: "▲ worker joined, ▼ worker left (red: lost or disappeared), ✕ tasks erred, ◆ tasks submitted, ⚑ note; hatched: not recorded. Click one to go there.",
  create: (element, context) => new EventsTrack(element, context),
};

class EventsTrack {
  #element;
  #context;
  #surface;
  #tooltip;
  /** @type {View|null} */
  #view = null;
  /** @type {ClusterEvent[]} in the window, and maybe beside it */
  #events = [];

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   */
  constructor(element, context) {
    this.#element = element;
    this.#context = context;
    this.#surface = new Surface(element, "Events in the window");
    this.#tooltip = new Tooltip(element);
    element.addEventListener("pointermove", (event) => this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tooltip.hide());
    element.addEventListener("click", (event) => this.#click(event));
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** Whatever the window, as of alerts. */
  isEmpty() {
    const { events, timeline } = this.#context;
    const isWithin = (/** @type {{time: number}} */ { time }) =>
      time >= timeline.first && time <= timeline.end;
    return !events.list.some(isWithin) && !events.gapsBetween(timeline.first, timeline.end).length;
  }

  /** @param {View} view */
  draw(view) {
    if (this.#view?.tiles === view.tiles) return;
    this.#view = view;
    const left = leftGutter();
    this.#surface.clear(left + view.width + RIGHT_GUTTER, HEIGHT);
    const { context } = this.#surface;
    context.strokeStyle = theme().border;
    context.beginPath();
    context.moveTo(left, HEIGHT / 2);
    context.lineTo(left + view.width, HEIGHT / 2);
    context.stroke();
    const events = this.#context.events.within(view.tiles.events ?? []);
    this.#events = events;
    const [x, range] = [
      (/** @type {number} */ time) => this.#x(time),
      /** @type {[number, number]} */ ([left, left + view.width]),
    ];
    const { tiles } = this.#context;
    const unloaded =
      events === this.#context.events.list ? tiles.unloaded(OVERVIEW, "events") : view.unloaded.events;
    drawUnloaded(context, unloaded ?? [], x, range, 0, HEIGHT);
    const gaps = this.#context.events.gapsBetween(view.start, view.stop);
    drawGaps(context, gaps, x, range, 0, HEIGHT, this.#context.timeline.end);
    drawMarks(context, events, x, range, HEIGHT / 2, MARK_SIZE);
    const shown = events.filter((event) => event.time >= view.start && event.time < view.stop);
    const count = shown.reduce((sum, event) => sum + event.count, 0);
    this.#surface.canvas.setAttribute("aria-label", `${count} events in the window`);
  }

  table() {
    const { start, stop } = this.#view ?? { start: 0, stop: 0 };
    const { model, events } = this.#context;
    const shown = this.#events.filter(({ time }) => time >= start && time < stop);
    const rows = repeated(shown).map((group) => {
      const [{ time, kind, worker }] = group;
      const [known, { label }] = [model.workers.get(worker ?? -1), markOf(kind)];
      const count = group.reduce((sum, event) => sum + event.count, 0);
      const until = group[group.length - 1].time;
      return [isoTime(time), isoTime(until), label, count, known ? workerLabel(known) : "", messageOf(group)];
    });
    const gaps = events.gapsBetween(start, stop).map(({ label }) => label);
    const note = gaps.length ? `Not recorded: ${[...new Set(gaps)].join("; ")}.` : "";
    return { columns: ["time (UTC)", "until (UTC)", "event", "count", "worker", "message"], rows, note };
  }

  /** @param {number} time */
  #x(time) {
    const view = this.#view;
    if (!view) return NaN;
    return leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
  }

  /** @param {MouseEvent} event */
  #near(event) {
    const x = event.clientX - this.#surface.canvas.getBoundingClientRect().left;
    const near = this.#events.filter((one) => Math.abs(this.#x(one.time) - x) <= REACH);
    return { x, near: near.sort((one, other) => markOf(other.kind).weight - markOf(one.kind).weight) };
  }

  /** @param {number} x */
  #gapsAt(x) {
    const view = this.#view;
    if (!view) return [];
    const time = (/** @type {number} */ place) =>
      view.start + ((place - leftGutter()) / view.width) * (view.stop - view.start);
    return this.#context.events.gapsBetween(time(x - 2), time(x + 2)).slice(0, MOST_LINES);
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const { x, near } = this.#near(event);
    this.#surface.canvas.style.cursor = near.length ? "pointer" : "";
    const gaps = this.#gapsAt(x);
    if (!near.length && !gaps.length) return this.#tooltip.hide();
    const colors = theme();
    const groups = repeated(near);
    /** @type {[string, string, string?][]} */
    const lines = groups.slice(0, MOST_LINES).map((group) => {
      const [one] = group;
      const mark = markOf(one.kind);
      const worker = this.#context.model.workers.get(one.worker ?? -1);
      const name = worker ? workerLabel(worker) : "";
      const sentence = messageOf(group, mark.label); // of one event it names the worker itself
      const text = [sentence, sentence.includes(name) ? "" : name].filter(Boolean).join(" · ");
      return [formatTime(one.time, 1), text, colors[mark.color]];
    });
    if (groups.length > MOST_LINES) lines.push(["", `and ${groups.length - MOST_LINES} more`]);
    for (const gap of gaps) lines.push(["gap", gap.label, colors.warning]);
    const count = formatCount(near.reduce((sum, event) => sum + event.count, 0));
    const title =
      near.length === 1 ? markOf(near[0].kind).label : near.length ? `${count} events` : "Not recorded";
    this.#tooltip.show(x, HEIGHT, title, lines);
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const { near } = this.#near(event);
    if (!near.length) return;
    this.#context.timeline.jump(near[0].time);
    event.preventDefault();
  }
}
