// The selected worker: its processes with their ends, what its threads did at the playhead, and the call stacks around it.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatCountOf, formatDuration, formatPercent } from "../../formatting.js";
import { writtenLabels } from "../../timeline/labels.js";
import { PlayheadData } from "../../timeline/playhead_data.js";
import { lifetimeAt, newest, slotLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { prefixCell } from "../data_table/prefix_cell.js";
import { heardAgo } from "../playhead/workers_now.js";
import { stacksAt, stretchAround } from "./stacks_at.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Worker} Worker */
/** @typedef {import("../../types.js").Schemas["RunningSpan"]} Running */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */

const MOST_STACKS = 4;
const MOST_FRAMES = 12; // innermost ones of a stack

/** @type {Chart} */
export const workerDetail = {
  name: "worker-detail",
  title: "Selected worker",
  place: "below",
  layers: (context) => (hasCode(context) ? ["profile"] : []),
  help:
    "The processes that filled the selected worker's place, with how they ended; what its threads did at the playhead; and the call stacks that Dask " +
    "sampled in the seconds around it. Select a worker in any table, legend or in the task stream: all charts follow, and the address has it.",
  create: (parent, context) => new WorkerDetail(parent, context),
};

class WorkerDetail {
  #parent;
  #context;
  #note = element("p", "chart-empty");
  #content = element("div", "worker-detail");
  #heading = element("p", "worker-facts");
  #pages = element("a", "", "Dask’s own pages");
  #profileNote = element("p", "muted");
  #stacks = element("div", "worker-stacks");
  /** @type {DataTable<Worker>} */
  #lifetimes;
  /** @type {DataTable<Running>} */
  #running;
  /** @type {PlayheadData<Running[]>} */
  #data;
  /** @type {View|null} */
  #view = null;
  /** what the stacks are made of */
  #shownStacks = "";
  #shownFacts = "";

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new PlayheadData(context, "");
    this.#data.addEventListener("change", () => this.#showRunning());
    const clear = element("button", "", "Clear the selection");
    clear.type = "button";
    clear.addEventListener("click", () => context.selection.set({ worker: null }));
    this.#pages.target = "_blank";
    this.#pages.rel = "noopener";
    this.#pages.title = "The pages of the worker’s own process, while it lives, in a new tab";
    const actions = element("div", "worker-actions");
    actions.append(clear, this.#pages);
    this.#content.append(this.#heading, actions, element("h3", "", "Processes"));
    this.#lifetimes = new DataTable(this.#content, this.#lifetimeColumns(), {
      label: "processes of the selected worker",
      empty: "It had none.",
      key: ({ id }) => id,
      choose: ({ started, ended }) => context.timeline.jump(ended ?? started),
      hint: ({ ended }) => (ended === null ? "Go to its start" : "Go to its end"),
    });
    this.#content.append(element("h3", "", "Running at the playhead"));
    this.#running = new DataTable(this.#content, this.#runningColumns(), {
      label: "what the selected worker ran at the playhead",
      empty: "None of its threads did anything.",
      key: ({ lane, action, start }) => `${lane} ${action} ${start}`,
      choose: ({ key, prefix }) => context.selection.set({ key, prefix }),
      isChosen: ({ key }) => context.selection.key === key,
    });
    this.#content.append(
      element("h3", "", "Call stacks around the playhead"),
      this.#profileNote,
      this.#stacks,
    );
    parent.append(this.#note, this.#content);
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** What its heading says. */
  get summary() {
    const slot = this.#slot;
    return slot ? slotLabel(slot) : "";
  }

  get #slot() {
    const { model, selection } = this.#context;
    return model.slotOf(selection.worker);
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    const slot = this.#slot;
    this.#content.hidden = !slot;
    this.#note.textContent = slot
      ? ""
      : "Select a worker, in a table, a legend or the task stream, to see all of it.";
    if (!slot) return this.#data.stop();
    const worker = lifetimeAt(slot, view.playhead) ?? newest(slot);
    this.#showFacts(slot, worker, view);
    this.#showPages(newest(slot));
    this.#data.ask(`/workers/${worker.id}/running`);
    this.#data.update(view);
    this.#showStacks(slot, view);
  }

  table() {
    return this.#running.table();
  }

  /**
   * @param {Slot} slot
   * @param {Worker} worker
   * @param {View} view
   */
  #showFacts(slot, worker, view) {
    const now = view.state?.workers.find(({ id }) => id === worker.id);
    const figures = now && [
      ...(now.memory === null ? [] : [`memory ${formatBytes(now.memory)}`]),
      ...(now.cpu === null ? [] : [`CPU ${formatPercent(now.cpu / 100)}`]),
      now.running === null ? "busy threads unknown" : formatCountOf(now.running, "busy thread"),
      ...(now.is_silent
        ? [`silent, last heard of ${formatDuration(heardAgo(view.state, now) ?? 0)} ago`]
        : []),
    ];
    const facts = [
      worker.address,
      worker.host && `on ${worker.host}`,
      sharing(worker, this.#context.model.workersBetween(view.playhead, view.playhead + 1e-3)),
      formatCountOf(worker.nthreads, "thread"),
      writtenLabels(worker),
      worker.memory_limit ? `limit ${formatBytes(worker.memory_limit)}` : "no memory limit",
      ...(figures ?? ["not there at the playhead"]),
    ]
      .filter(Boolean)
      .join(" · ");
    const shown = `${facts} ${this.#context.model.version} ${slot.key}`;
    if (shown === this.#shownFacts) return;
    this.#shownFacts = shown;
    this.#heading.textContent = facts;
    this.#lifetimes.show([...slot.lifetimes].reverse());
  }

  /** @param {Worker} worker the last of its slot, which may live */
  #showPages({ id, ended }) {
    const { workerPages } = this.#context.source;
    this.#pages.hidden = !workerPages || ended !== null;
    if (workerPages) this.#pages.href = `${workerPages}${id}/pages/`;
  }

  #showRunning() {
    const { answer, message } = this.#data;
    this.#running.show(answer ?? [], message);
  }

  /**
   * @param {Slot} slot
   * @param {View} view
   */
  #showStacks(slot, view) {
    const { stacks, info } = this.#context;
    if (!hasCode(this.#context)) {
      this.#profileNote.textContent = "This link doesn't share code.";
      return;
    }
    const tiles = view.tiles.profile ?? [];
    const stretch = stretchAround(tiles, view.playhead);
    const found = stacksAt(tiles, stretch, slot);
    void stacks.want(
      found
        .slice(0, MOST_STACKS)
        .map(({ stack }) => stack)
        .filter((stack) => !stacks.get(stack)),
    );
    const total = found.reduce((sum, { count }) => sum + count, 0);
    const first = found.slice(0, MOST_STACKS);
    const shown = JSON.stringify([
      first,
      total,
      stretch,
      first.map(({ stack }) => Boolean(stacks.get(stack))),
    ]);
    if (shown === this.#shownStacks) return;
    this.#shownStacks = shown;
    this.#profileNote.textContent = total
      ? `Statistical: ${formatCountOf(total, "sample")} of its threads from ${formatTime(stretch.start, 1)} to ${formatTime(stretch.stop, 1)}, the most frequent of ${formatCountOf(found.length, "stack")} first.`
      : info.has_agent
        ? `No samples of its threads from ${formatTime(stretch.start, 1)} to ${formatTime(stretch.stop, 1)}.`
        : "Call stacks need the agent, which isn't installed on this cluster: see docs/agent.md.";
    this.#stacks.replaceChildren(...first.map(({ stack, count }) => this.#stack(stack, count / total)));
  }

  /**
   * @param {number} id
   * @param {number} share of the samples
   */
  #stack(id, share) {
    const frames = this.#context.stacks.get(id) ?? [];
    const lines = frames
      .slice(-MOST_FRAMES)
      .reverse()
      .map(({ of, line }) => `${of.name}  ${of.file}:${line}`);
    if (frames.length > MOST_FRAMES)
      lines.push(`… called by ${formatCount(frames.length - MOST_FRAMES)} more`);
    const text = element("pre", "worker-stack", lines.join("\n") || "loading …");
    text.tabIndex = 0;
    text.setAttribute("role", "group");
    text.setAttribute("aria-label", `Call stack of ${formatPercent(share)} of the samples, innermost first`);
    return element("div", "", element("b", "", formatPercent(share)), text);
  }

  /** @returns {import("../data_table/data_table.js").Column<Worker>[]} */
  #lifetimeColumns() {
    const length = (/** @type {Worker} */ { started, ended }) =>
      (ended ?? this.#view?.playhead ?? started) - started;
    return [
      { name: "address", title: "address", value: ({ address }) => address },
      {
        name: "started",
        title: "started (UTC)",
        value: ({ started }) => isoTime(started),
        cell: ({ started }) => formatTime(started, 1),
      },
      {
        name: "ended",
        title: "ended (UTC)",
        value: ({ ended }) => (ended === null ? "" : isoTime(ended)),
        cell: ({ ended }) => (ended === null ? "–" : formatTime(ended, 1)),
      },
      {
        name: "length",
        title: "length",
        unit: "s",
        value: length,
        text: (worker) => formatDuration(Math.max(length(worker), 0)),
      },
      {
        name: "end",
        title: "how it ended",
        value: ({ ended, end_reason, status }) => (ended === null ? status : end_reason || "unknown"),
      },
    ];
  }

  /** @returns {import("../data_table/data_table.js").Column<Running>[]} */
  #runningColumns() {
    const { model } = this.#context;
    const sofar = (/** @type {Running} */ { start }) => Math.max((this.#view?.playhead ?? start) - start, 0);
    return [
      { name: "key", title: "task", value: ({ key }) => key },
      { name: "thread", title: "thread", value: ({ lane }) => model.lanes.get(lane)?.position ?? null },
      {
        name: "prefix",
        title: "prefix",
        value: ({ prefix }) => model.prefixName(prefix),
        cell: ({ prefix }) => prefixCell(model.prefixName(prefix), prefix, model),
      },
      { name: "action", title: "action", value: ({ action }) => action },
      { name: "sofar", title: "so far", unit: "s", value: sofar, text: (row) => formatDuration(sofar(row)) },
      {
        name: "seconds",
        title: "in all",
        unit: "s",
        value: ({ start, stop }) => stop - start,
        text: ({ start, stop }) => formatDuration(stop - start),
      },
    ];
  }
}

/**
 * @param {Worker} worker
 * @param {Worker[]} others
 * @returns {string} "" if it has a process of its own
 */
function sharing(worker, others) {
  const together = others.filter(
    ({ id, process }) => id !== worker.id && process !== null && process === worker.process,
  ).length;
  return together
    ? `shares its process, with its memory and CPU, with ${formatCountOf(together, "other worker")}`
    : "";
}

/** @param {Context} context */
function hasCode({ info }) {
  return info.parts.includes("code");
}
