// The workers, hosts and tasks of the window that stand out, as a table. A click shows them on the task stream.

import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { WindowData } from "../../timeline/window_data.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { Shown } from "../drawing/shown.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { figureColumns, firstFigure } from "./ranking.js";
import { LaneOptions } from "../task_stream/options.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["Outliers"]} Found */
/** @typedef {Found["workers"][number]} Worker */
/** @typedef {Found["hosts"][number]} Host */
/** @typedef {Found["tasks"][number]} LongTask */
/**
 * @template Row
 * @typedef {import("../data_table/data_table.js").Column<Row>} Column
 */

const EVERY = 10_000; // ms, where the window moves with the present
const STEP = 10; // rows, and as many more at each click
const KINDS = { workers: "workers", hosts: "hosts", tasks: "tasks" };
const NONE = {
  workers: "None.",
  hosts: "None: all workers are on one host.",
  tasks: "None: no task is a straggler.",
};

/** @type {Chart} */
export const outliers = {
  name: "outliers",
  title: "Outliers",
  place: "below",
  layers: [],
  help:
    "The workers, or hosts, of the window with the greatest values of the figures; a heading sorts them. Click one to select it " +
    "and to show its lanes alone; click it again to show all. Tasks: the stragglers, those that took longest beyond the median of " +
    "their prefix first; click one to go to it.",
  create: (parent, context) => new Outliers(parent, context),
};

class Outliers {
  #parent;
  #context;
  #holder = element("div", "outliers");
  /** @type {WindowData<Found>} */
  #data;
  /** @type {keyof typeof KINDS} */
  #kind = "workers";
  /** @type {DataTable<any>} */
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, "/outliers", EVERY);
    this.#data.addEventListener("change", () => this.#render());
    const kinds = kindChoice("Outliers among", KINDS, this.#kind, (kind) => {
      this.#kind = kind;
      this.#table = this.#makeTable();
      this.#render();
    });
    this.#table = this.#makeTable();
    parent.append(kinds, this.#holder);
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
    this.#data.update(view);
    this.#render();
  }

  table() {
    return this.#table.table();
  }

  #render() {
    const { model, selection, features } = this.#context;
    const laneOptions = features.of(LaneOptions);
    const { answer, message } = this.#data;
    if (
      !this.#shown.changes(
        answer,
        message,
        this.#kind,
        selection.worker,
        selection.key,
        laneOptions.filter,
        model.version,
      )
    )
      return;
    this.#table.show(answer?.[this.#kind] ?? [], message);
  }

  #makeTable() {
    this.#holder.replaceChildren();
    const options = { label: `outliers among ${this.#kind}`, empty: NONE[this.#kind], step: STEP };
    if (this.#kind === "tasks")
      return new DataTable(this.#holder, taskColumns(this.#context), { ...options, ...this.#ofTasks() });
    if (this.#kind === "hosts")
      return new DataTable(this.#holder, HOST_COLUMNS, { ...options, ...this.#ofHosts() });
    return new DataTable(this.#holder, workerColumns(this.#context), { ...options, ...this.#ofWorkers() });
  }

  #ofWorkers() {
    const { model, selection, features } = this.#context;
    const laneOptions = features.of(LaneOptions);
    const isChosen = (/** @type {Worker} */ { worker }) => {
      const slot = model.slotOf(worker)?.key;
      return slot !== undefined && model.slotOf(selection.worker)?.key === slot;
    };
    return {
      sorted: firstFigure,
      key: (/** @type {Worker} */ { worker }) => worker,
      isChosen,
      choose: (/** @type {Worker} */ row) => {
        const leaves = isChosen(row);
        // the address is of this worker alone: names such as "1" are parts of others
        const filter = model.workers.get(row.worker)?.address ?? workerName(this.#context, row.worker);
        laneOptions.set({ filter: leaves ? "" : filter });
        selection.set({ worker: leaves ? null : row.worker });
      },
    };
  }

  #ofHosts() {
    const { selection, features } = this.#context;
    const laneOptions = features.of(LaneOptions);
    const isChosen = (/** @type {Host} */ { host }) => laneOptions.filter === host;
    return {
      sorted: firstFigure,
      key: (/** @type {Host} */ { host }) => host,
      isChosen,
      choose: (/** @type {Host} */ row) => {
        laneOptions.set({ filter: isChosen(row) ? "" : row.host });
        selection.set({ worker: null });
      },
    };
  }

  #ofTasks() {
    return {
      sorted: "excess",
      key: (/** @type {LongTask} */ { key, start }) => `${start} ${key}`,
      isChosen: (/** @type {LongTask} */ { key }) => this.#context.selection.key === key,
      choose: (/** @type {LongTask} */ task) => goToTask(this.#context, task, task.start),
    };
  }
}

/** @type {Column<Host>[]} */
const HOST_COLUMNS = [
  { name: "host", title: "host", value: ({ host }) => host },
  { name: "workers", title: "workers", value: ({ workers }) => workers },
  ...figureColumns(),
];

/** @param {Context} context @returns {Column<Worker>[]} */
function workerColumns(context) {
  return [
    { name: "worker", title: "worker", value: ({ worker }) => workerName(context, worker) },
    ...figureColumns(),
  ];
}

/** @param {Context} context @returns {Column<LongTask>[]} */
function taskColumns(context) {
  const seconds = (/** @type {LongTask} */ { start, stop }) => microseconds(stop - start);
  const excess = (/** @type {LongTask} */ { start, stop, ratio }) =>
    microseconds((stop - start) * (1 - 1 / ratio));
  return [
    { name: "task", title: "task", value: ({ key }) => key },
    { name: "prefix", title: "prefix", value: ({ prefix }) => context.model.prefixName(prefix) },
    { name: "worker", title: "worker", value: ({ worker }) => workerName(context, worker) },
    {
      name: "start",
      title: "began",
      value: ({ start }) => isoTime(start),
      text: ({ start }) => formatTime(start, 1),
    },
    {
      name: "seconds",
      title: "duration",
      unit: "s",
      value: seconds,
      text: (task) => formatDuration(seconds(task)),
    },
    {
      name: "excess",
      title: "beyond the median",
      unit: "s",
      value: excess,
      text: (task) => formatDuration(excess(task)),
    },
    {
      name: "ratio",
      title: "× median",
      value: ({ ratio }) => ratio,
      text: ({ ratio }) => `${ratio.toFixed(1)} ×`,
    },
  ];
}
