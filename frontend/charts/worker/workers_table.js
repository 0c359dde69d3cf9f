// All that is known of each worker at the playhead: the columns of the table of workers on Dask's own dashboard, and more.

import { formatAmount } from "../../amounts.js";
import { formatBytes, formatCount, formatDuration, formatPercent } from "../../formatting.js";
import { writtenLabels } from "../../timeline/labels.js";
import { PlayheadData } from "../../timeline/playhead_data.js";
import { workerLabel } from "../../timeline/slots.js";
import { DataTable } from "../data_table/data_table.js";
import { Shown } from "../drawing/shown.js";
import { heard, heardAgo } from "../playhead/workers_now.js";
import { formatRate } from "../transfers/names.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["WorkerFigures"]} Figures */
/** @typedef {import("../../types.js").State["workers"][number]} Now */
/** @typedef {Now & {figures: Figures|null}} Row */
/** @typedef {import("../data_table/data_table.js").Column<Row>} Column */

/** @type {Chart} */
export const workersTable = {
  name: "workers-table",
  title: "All figures of the workers",
  place: "below",
  showsState: true,
  layers: [],
  help:
    "The last heartbeat of each worker at the playhead. A heading sorts; a name selects the worker on all charts. Network and disk are those of its machine, " +
    "all processes together. Tasks that are assigned to it, and how old unmanaged memory is, are reported by the agent only.",
  create: (parent, context) => new WorkersTable(parent, context),
};

class WorkersTable {
  #parent;
  #context;
  /** @type {PlayheadData<Figures[]>} */
  #data;
  /** @type {DataTable<Row>} */
  #table;
  #shown = new Shown();
  /** @type {import("../../types.js").State|null} what is shown */
  #state = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new PlayheadData(context, "/workers");
    this.#table = new DataTable(parent, this.#columns(), {
      label: "all figures of the workers",
      search: "Find a worker in this table",
      placeholder: "name, address, host, label",
      empty: "There were no workers at this time.",
      key: ({ id }) => id,
      find: ({ id, status }) =>
        `${this.#name(id)} ${this.#known(id)?.address ?? ""} ${this.#known(id)?.host ?? ""} ${status} ${this.#labels(id)}`,
      isChosen: ({ id }) => this.#isSelected(id),
      choose: ({ id }) => context.selection.set({ worker: this.#isSelected(id) ? null : id }),
    });
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
    if (!view.state) return;
    if (
      !this.#shown.changes(
        view.state,
        this.#data.answer,
        this.#context.selection.worker,
        this.#context.model.version,
      )
    )
      return;
    this.#state = view.state;
    const figures = new Map((this.#data.answer ?? []).map((one) => [one.id, one]));
    this.#table.show(
      view.state.workers.map((worker) => ({ ...worker, figures: figures.get(worker.id) ?? null })),
    );
  }

  table() {
    return this.#table.table();
  }

  /** @returns {Column[]} */
  #columns() {
    const figure =
      (/** @type {Exclude<keyof Figures, "id" | "custom">} */ name) => (/** @type {Row} */ row) =>
        row.figures?.[name] ?? null;
    const old = (/** @type {Row} */ row) => {
      const recent = row.figures?.unmanaged_recent ?? null;
      return recent === null || row.unmanaged === null ? null : Math.max(row.unmanaged - recent, 0);
    };
    const share = (/** @type {Row} */ { memory, limit }) =>
      memory === null || !limit ? null : memory / limit;
    return [
      { name: "worker", title: "worker", value: ({ id }) => this.#name(id) },
      { name: "address", title: "address", value: ({ id }) => this.#known(id)?.address ?? "" },
      { name: "host", title: "host", value: ({ id }) => this.#known(id)?.host ?? "" },
      { name: "labels", title: "labels", value: ({ id }) => this.#labels(id), help: "Given to it by people, and its resources, machine and release" },
      { name: "status", title: "status", value: ({ status }) => status },
      {
        name: "heard",
        title: "last heard",
        unit: "s",
        help: "How long ago its last heartbeat came. ⚠: heartbeats are missing, so its values are old or unknown",
        value: (row) => heardAgo(this.#state, row),
        cell: (row) => heard(heardAgo(this.#state, row), row),
      },
      { name: "threads", title: "threads", value: ({ id }) => this.#known(id)?.nthreads ?? null },
      { name: "busy", title: "busy", value: ({ running }) => running, help: "Threads that computed" },
      { name: "processing", title: "tasks", value: figure("processing"), help: "Assigned to it by the scheduler (with the agent)" },
      amount("occupancy", "occupancy", "s", figure("occupancy"), formatDuration, "Work that the scheduler expects it to have (with the agent)"),
      amount("cpu", "CPU", "%", ({ cpu }) => cpu, (cpu) => formatPercent(cpu / 100)),
      bytes("memory", "memory", ({ memory }) => memory),
      bytes("limit", "limit", ({ limit }) => limit || null),
      amount("share", "memory %", "share", share, formatPercent),
      bytes("managed", "managed", ({ managed }) => managed),
      bytes("unmanaged", "unmanaged", ({ unmanaged }) => unmanaged),
      bytes("old", "unmanaged old", old, "That it has had for over 30 seconds (with the agent)"),
      bytes("recent", "unmanaged recent", figure("unmanaged_recent"), "That is newer than 30 seconds (with the agent)"),
      bytes("spilled", "spilled", ({ spilled }) => spilled),
      bytes("incoming", "receiving", figure("incoming"), "Results on their way from other workers"),
      bytes("outgoing", "sending", figure("outgoing"), "Results on their way to other workers"),
      amount("descriptors", "# fds", "", figure("descriptors"), formatCount, "Open files and connections"),
      rate("net-read", "net read", figure("network_read")),
      rate("net-write", "net write", figure("network_write")),
      rate("disk-read", "disk read", figure("disk_read")),
      rate("disk-write", "disk write", figure("disk_write")),
      amount("gil", "GIL", "share", ({ gil }) => gil, formatPercent, "Share of the time in which threads wait for it"),
      amount("loop", "event loop", "s", figure("event_loop"), formatDuration, "Mean time between two ticks"),
      bytes("gpu", "GPU memory", figure("gpu_memory")),
      amount("gpu-busy", "GPU", "%", figure("gpu_utilization"), (percent) => formatPercent(percent / 100), "Of all of its GPUs, on average"),
      amount("gpu-power", "GPU power", "W", figure("gpu_power"), (watts) => formatAmount(watts, "watts"), "Of all of its GPUs together (with the agent)"),
      amount("gpu-heat", "GPU °C", "°C", figure("gpu_temperature"), (celsius) => formatAmount(celsius, "celsius"), "Of the hottest of its GPUs (with the agent)"),
      { name: "custom", title: "own metrics", value: ({ figures }) => customText(figures), help: "What the cluster’s people add to the heartbeats of workers" },
    ]; // prettier-ignore
  }

  /** @param {number} id */
  #isSelected(id) {
    const slot = this.#known(id)?.slot;
    return slot !== undefined && this.#context.model.slotOf(this.#context.selection.worker)?.key === slot;
  }

  /** @param {number} id */
  #known(id) {
    return this.#context.model.workers.get(id);
  }

  /** @param {number} id */
  #labels(id) {
    const known = this.#known(id);
    return known ? writtenLabels(known) : "";
  }

  /** @param {number} id */
  #name(id) {
    const known = this.#known(id);
    return known ? workerLabel(known) : `worker ${id}`;
  }
}

/** @param {Figures|null} figures */
function customText(figures) {
  return Object.entries(figures?.custom ?? {})
    .map(([name, value]) => `${name} ${Number(value.toPrecision(6))}`)
    .join(", ");
}

/**
 * @param {string} name
 * @param {string} title
 * @param {string} unit
 * @param {(row: Row) => number|null} value
 * @param {(value: number) => string} write
 * @param {string} [help]
 * @returns {Column}
 */
function amount(name, title, unit, value, write, help) {
  return { name, title, unit, value, text: (row) => write(value(row) ?? 0), help };
}

/**
 * @param {string} name
 * @param {string} title
 * @param {(row: Row) => number|null} value
 * @param {string} [help]
 */
function bytes(name, title, value, help) {
  return amount(name, title, "bytes", value, formatBytes, help);
}

/**
 * @param {string} name
 * @param {string} title
 * @param {(row: Row) => number|null} value
 */
function rate(name, title, value) {
  return amount(name, title, "bytes/s", value, formatRate, "Of its machine, all processes together");
}
