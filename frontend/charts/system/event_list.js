// The events of the window as a table: of the cluster, and those that code logged to topics.

import { element } from "../../element.js";
import { workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { WindowData } from "../../timeline/window_data.js";
import { isoTime } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { markOf } from "../events/marks.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["EventItem"]} EventItem */

const MOST = 1000;

/** @type {Chart} */
export const eventList = {
  name: "event-list",
  title: "Events and topics",
  place: "below",
  layers: [],
  help:
    `The first ${MOST} events of the window: workers and clients that came and left, restarts, shuffles, gaps, and what code logged to Dask's topics ` +
    "with log_event (the agent records topics). Those that repeat are one. Click one to move the playhead to it; open it for its details.",
  create: (parent, context) => new EventList(parent, context),
};

class EventList {
  #parent;
  #context;
  /** @type {DataTable<EventItem>} */
  #table;
  #note = element("p", "chart-empty");
  /** @type {View|null} */
  #view = null;
  /** @type {WindowData<EventItem[]>} */
  #data;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, `/events?grouped=true&limit=${MOST}`);
    this.#data.addEventListener("change", () => this.#render());
    this.#table = new DataTable(
      parent,
      [
        {
          name: "time",
          title: "time (UTC)",
          value: ({ time }) => isoTime(time),
          cell: ({ time, until }) => formatTime(time, 3) + (until > time ? ` – ${formatTime(until, 3)}` : ""),
        },
        { name: "kind", title: "event", value: ({ kind }) => markOf(kind).label },
        {
          name: "topic",
          title: "topic",
          value: topicOf,
          help: "Of a message that was logged to a topic of Dask",
        },
        { name: "worker", title: "worker", value: ({ worker }) => this.#nameOf(worker) },
        { name: "message", title: "message", value: ({ message }) => message },
      ],
      {
        label: "events",
        empty: "Nothing happened in this window.",
        key: (event) => `${event.time} ${event.kind} ${event.worker} ${event.message}`,
        find: (event) =>
          `${event.kind} ${markOf(event.kind).label} ${topicOf(event)} ${this.#nameOf(event.worker)} ${event.message}`,
        choose: ({ time, worker }) => {
          if (worker !== null) context.selection.set({ worker });
          context.timeline.jump(time);
        },
        open: ({ count, detail }) => {
          const ofFirst = count > 1 ? "The first one:\n" : "";
          return Object.assign(element("pre", "event-detail", ofFirst + JSON.stringify(detail, null, 1)), {
            tabIndex: 0,
          });
        },
      },
    );
    parent.append(this.#note);
    this.#render();
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    this.#data.update(view);
  }

  table() {
    return this.#table.table();
  }

  #render() {
    const { answer, message } = this.#data;
    const { start, stop } = this.#view ?? { start: 0, stop: Infinity };
    // a file answers with those of the whole run
    const events = (answer ?? []).filter(({ time, until }) => until >= start && time < stop);
    this.#table.show(events, message);
    this.#note.textContent =
      (answer?.length ?? 0) < MOST
        ? ""
        : `These are the first ${MOST} events of the window: zoom in to see the others.`;
  }

  /** @param {number|null} id */
  #nameOf(id) {
    const worker = this.#context.model.workers.get(id ?? -1);
    return worker ? workerLabel(worker) : "";
  }
}

/** @param {EventItem} event */
function topicOf({ kind, detail }) {
  return kind === "topic" ? String(detail.topic ?? "") : "";
}
