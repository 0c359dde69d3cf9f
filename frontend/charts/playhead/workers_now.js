// The workers at the playhead, a row each. A click selects one for all charts, a heading sorts them.

import { element } from "../../element.js";
import { formatBytes, formatDuration, formatPercent } from "../../formatting.js";
import { shortName, workerLabel } from "../../timeline/slots.js";
import { DataTable } from "../data_table/data_table.js";
import { Shown } from "../drawing/shown.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").State} State */
/** @typedef {State["workers"][number]} Now */

const LONGEST_NAME = 22; // characters that leave room for the other columns
const COLUMNS = [
  ...[
    "worker",
    "address",
    "status",
    "CPU (%)",
    "memory (bytes)",
    "managed (bytes)",
    "unmanaged (bytes)",
    "spilled (bytes)",
  ],
  ...["memory limit (bytes)", "GIL (share)", "busy threads", "threads", "last heard (s ago)"],
];

/** @type {Chart} */
export const workersNow = {
  name: "workers-now",
  title: "Workers",
  place: "side",
  showsState: true,
  layers: [],
  help: "Workers at the playhead: the last heartbeat of each, and how many of its threads were busy. ⚠: heartbeats are missing, so its values are old, or unknown (–). A heading sorts them.",
  create: (parent, context) => new WorkersNow(parent, context),
};

class WorkersNow {
  #parent;
  #context;
  /** @type {DataTable<Now>} */
  #table;
  #shown = new Shown();
  /** @type {State|null} what is shown */
  #state = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    const holder = element("div", "workers-now");
    parent.append(holder);
    this.#table = new DataTable(holder, this.#columns(), {
      label: "workers",
      search: "Find a worker",
      placeholder: "name, host, status",
      empty: "There were no workers at this time.",
      isBounded: true,
      key: ({ id }) => id,
      find: ({ id, status }) =>
        `${this.#name(id)} ${this.#known(id)?.address ?? ""} ${this.#known(id)?.host ?? ""} ${status}`,
      hint: ({ id }) => [...new Set([this.#name(id), this.#known(id)?.address])].filter(Boolean).join(" · "),
      isChosen: (worker) => this.#isSelected(worker),
      choose: (worker) => context.selection.set({ worker: this.#isSelected(worker) ? null : worker.id }),
    });
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    if (!view.state) return;
    const { selection, model } = this.#context;
    if (!this.#shown.changes(view.state, selection.worker, model.version)) return;
    this.#state = view.state;
    this.#table.show(view.state.workers);
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const rows = (this.#state?.workers ?? []).map((worker) => {
      const known = this.#known(worker.id);
      const memory = [worker.memory, worker.managed, worker.unmanaged, worker.spilled, worker.limit];
      const where = [known ? workerLabel(known) : String(worker.id), known?.address ?? "", worker.status];
      return [
        ...where,
        worker.cpu,
        ...memory,
        worker.gil,
        worker.running,
        known?.nthreads ?? null,
        heardAgo(this.#state, worker),
      ];
    });
    return { columns: COLUMNS, rows };
  }

  /** @returns {import("../data_table/data_table.js").Column<Now>[]} */
  #columns() {
    const { thresholds } = this.#context.info;
    return [
      {
        name: "worker",
        title: "worker",
        value: ({ id }) => this.#name(id),
        text: ({ id }) => shortName(this.#name(id), LONGEST_NAME),
      },
      {
        name: "CPU",
        title: "CPU",
        value: ({ cpu }) => cpu,
        text: ({ cpu }) => formatPercent((cpu ?? 0) / 100),
      },
      {
        name: "memory",
        title: "memory",
        value: (worker) => worker.memory,
        cell: (worker) => memory(worker, this.#known(worker.id)?.thresholds ?? thresholds),
      },
      { name: "GIL", title: "GIL", value: ({ gil }) => gil, text: ({ gil }) => formatPercent(gil ?? 0) },
      {
        name: "busy",
        title: "busy",
        value: ({ running }) => running,
        text: ({ id, running }) => `${running}/${this.#known(id)?.nthreads ?? 0}`,
      },
      {
        name: "heard",
        title: "heard",
        help: "How long ago it was last heard of",
        value: (worker) => heardAgo(this.#state, worker),
        cell: (worker) => heard(heardAgo(this.#state, worker), worker),
      },
    ];
  }

  /** @param {Now} worker */
  #isSelected({ id }) {
    const slot = this.#known(id)?.slot;
    return slot !== undefined && this.#context.model.slotOf(this.#context.selection.worker)?.key === slot;
  }

  /** @param {number} id */
  #known(id) {
    return this.#context.model.workers.get(id);
  }

  /** @param {number} id */
  #name(id) {
    const known = this.#known(id);
    return known ? workerLabel(known) : `worker ${id}`;
  }
}

/**
 * How many seconds before the playhead a worker was last heard of.
 * @param {State|null} state
 * @param {Now} worker
 */
export function heardAgo(state, { heard }) {
  return state === null || heard === null ? null : Math.max(0, state.at - heard);
}

/**
 * @param {number|null} ago seconds
 * @param {Now} worker
 */
export function heard(ago, { is_silent: isSilent }) {
  if (ago === null) return "–";
  if (!isSilent) return formatDuration(ago);
  const mark = element("span", "is-silent", `⚠ ${formatDuration(ago)}`);
  mark.title = "Its heartbeats are missing: what is shown of it is old, or unknown.";
  return mark;
}

/**
 * @param {Now} worker
 * @param {import("../../types.js").ClusterInfo["thresholds"]} thresholds
 */
function memory(worker, thresholds) {
  if (worker.memory === null) return "–";
  const box = element("span", "", formatBytes(worker.memory));
  if (!worker.limit) return box;
  const meter = element("meter", "");
  meter.max = worker.limit;
  [meter.low, meter.high, meter.optimum] = [
    worker.limit * (thresholds.target || 1), // 0: Dask doesn't do it
    worker.limit * (thresholds.pause || 1),
    0,
  ];
  meter.value = worker.memory;
  box.title = `${formatBytes(worker.memory)} of ${formatBytes(worker.limit)}`;
  box.append(meter);
  return box;
}
