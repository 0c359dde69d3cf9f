// The memory of runs laid over each other, each from its own start on, as distributed's MemorySampler aligns its samples.

import { element } from "../../element.js";
import { formatBytes } from "../../formatting.js";
import { MEMORY_MEASURES, MOST_RUNS, RunOptions } from "./options.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { microseconds } from "../chart_menu/table.js";
import { ElapsedAxis } from "../comparison/elapsed_axis.js";
import { MemoryLines } from "../comparison/memory_lines.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { workerColor } from "../drawing/palette.js";
import { Legend } from "../series/legend.js";
import { AlignedRuns } from "./aligned_runs.js";
import { RunChoice } from "./run_choice.js";
import { colorPlaces } from "./run_lists.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["AlignedRun"]} AlignedRun */
/** @typedef {typeof MEMORY_MEASURES[number]} Measure */

const HEIGHT = 260; // px
const NO_RUNS =
  'This cluster has no runs yet. Mark one from code, with observatory.run("my run") around it, or by hand: choose the window, then “Save as run” ' +
  "(key R). Activity becomes a run by itself a while after it ended.";
const NO_MEMORY = "No memory was recorded in these runs.";
const NONE_CHOSEN = `Tick up to ${MOST_RUNS} runs to see their memory.`;
const MEASURES = /** @type {Record<Measure, string>} */ (
  Object.fromEntries(MEMORY_MEASURES.map((name) => [name, name]))
);

/** @type {Chart} */
export const runMemory = {
  name: "run-memory",
  title: "Memory of runs, aligned",
  place: "below",
  layers: [],
  options: [RunOptions],
  help:
    "Memory of all workers over the time since the start of each run: of the processes, or the managed, unmanaged or spilled part. " +
    `Up to ${MOST_RUNS} runs. The same as distributed's MemorySampler, for code that ran as a run.`,
  isThere: ({ source, info }) => source.pages !== null && info.id !== null,
  create: (parent, context) => new RunMemory(parent, context),
};

class RunMemory {
  #parent;
  #context;
  #data;
  #measures;
  #choice = new RunChoice(MOST_RUNS);
  #stage = element("div", "run-memory-stage");
  #plot = element("div", "run-memory-plot");
  #note = element("p", "chart-empty");
  #legend;
  #lines;
  #axis;
  /** @type {Map<number, number>} */
  #colors = new Map();
  /** @type {unknown[]} what the lines are of */
  #shown = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new AlignedRuns(context);
    const options = context.features.of(RunOptions);
    this.#measures = kindChoice("Memory", MEASURES, options.measure, (measure) => options.set({ measure }));
    this.#legend = new Legend(this.#stage, () => undefined);
    this.#stage.append(this.#note, this.#plot);
    this.#lines = new MemoryLines(this.#plot, HEIGHT);
    this.#axis = new ElapsedAxis(this.#plot);
    parent.append(
      element(
        "div",
        "run-memory",
        element("div", "run-memory-side", this.#measures, this.#choice.element),
        this.#stage,
      ),
    );
    this.#data.addEventListener("change", () => this.#render());
    this.#choice.addEventListener("change", () => options.set({ runs: this.#choice.chosen }));
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  draw() {
    this.#data.update();
    this.#render();
  }

  table() {
    const runs = this.#runs;
    const width = this.#data.memory?.width ?? 0;
    const most = Math.max(0, ...runs.map(({ line }) => line.length));
    const rows = Array.from({ length: most }, (_, bin) => [
      microseconds(bin * width),
      ...runs.map(({ line }) => line[bin] ?? null),
    ]);
    return { columns: ["since the start (s)", ...runs.map((run) => `${nameOf(run)} (bytes)`)], rows };
  }

  /** What is drawn, in the order in which it was chosen. @returns {AlignedRun[]} */
  get #runs() {
    const { chosen, memory } = this.#data;
    return memory?.runs.filter(({ id }) => chosen.includes(id)) ?? [];
  }

  #render() {
    const { lists, chosen } = this.#data;
    this.#colors = colorPlaces(this.#colors, chosen);
    this.#choice.show(
      lists ? [...lists, ...this.#unlisted()] : [],
      chosen,
      Number(this.#context.info.id),
      (id) => (chosen.includes(id) ? this.#colorOf(id) : undefined),
    );
    const runs = this.#runs;
    this.#stage.ariaBusy = String(!this.#data.isCurrent);
    this.#tell(runs);
    const width = this.#stage.clientWidth - leftGutter() - RIGHT_GUTTER;
    this.#plot.hidden = !runs.some(({ peak }) => peak !== null);
    if (this.#plot.hidden || width < 1) return;
    const { memory } = this.#data;
    const shown = [memory, runs.length];
    if (shown.some((value, place) => value !== this.#shown[place])) {
      this.#shown = shown;
      this.#lines.show({
        width: memory?.width ?? 1,
        lines: runs.map((run) => ({ label: nameOf(run), color: this.#colorOf(run.id), values: run.line })),
      });
    }
    const longest = Math.max(...runs.map(({ seconds }) => seconds));
    this.#lines.draw(0, longest, width);
    this.#axis.draw(0, longest, width);
  }

  /** @param {AlignedRun[]} runs */
  #tell(runs) {
    const { lists, chosen, memory, message } = this.#data;
    this.#note.textContent = message || this.#reason(runs) || this.#missing();
    this.#note.hidden = !this.#note.textContent;
    this.#measures.hidden = this.#choice.element.hidden =
      !lists?.some(({ runs }) => runs.length) && !chosen.length;
    const entries = memory
      ? runs.map((run) => ({
          label: `${nameOf(run)}: ${peakText(run)}`,
          color: this.#colorOf(run.id),
          series: [],
          slot: null,
        }))
      : [];
    this.#legend.show(entries, null);
  }

  /** @param {AlignedRun[]} runs */
  #reason(runs) {
    const { lists, chosen, memory } = this.#data;
    if (!lists) return "loading …";
    if (!chosen.length) return lists.some(({ runs }) => runs.length) ? NONE_CHOSEN : NO_RUNS;
    if (!memory) return "loading …";
    return runs.length && runs.every(({ peak }) => peak === null) ? NO_MEMORY : "";
  }

  /** The runs of the address that are gone, or that this person may not see. */
  #missing() {
    const { chosen, memory } = this.#data;
    const loaded = this.#runs.map(({ id }) => id);
    const missing = memory?.runs.length === loaded.length ? chosen.filter((id) => !loaded.includes(id)) : [];
    return missing.length
      ? `Not shown: ${missing.map((id) => `#${id}`).join(", ")}, which you can't see or which don't exist any more.`
      : "";
  }

  /** Runs that are shown and in no list: those of an address. */
  #unlisted() {
    const listed = new Set(this.#data.lists?.flatMap(({ runs }) => runs.map(({ id }) => id)));
    const runs = this.#runs.filter(({ id }) => !listed.has(id));
    return [
      {
        title: "Others",
        runs: runs.map((run) => ({
          ...run,
          stop: run.outcome === "running" ? null : run.start + run.seconds,
        })),
      },
    ];
  }

  /** @param {number} id */
  #colorOf(id) {
    return workerColor(this.#colors.get(id) ?? MOST_RUNS);
  }
}

/** @param {{name: string, id: number}} run */
function nameOf({ name, id }) {
  return `${name} #${id}`;
}

/** @param {AlignedRun} run */
function peakText({ peak }) {
  return peak === null ? "no memory recorded" : `peak ${formatBytes(Math.round(peak))}`;
}
