// Progress of groups over time: tasks done, or busy threads, of the groups that took longest; the others are one.

import { formatCount } from "../../formatting.js";
import { isoTime } from "../chart_menu/table.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { theme } from "../drawing/theme.js";
import { TimePlot } from "../drawing/time_plot.js";
import { units } from "../series/value_axis.js";
import { layersOf } from "./group_layers.js";
import { labelsOf } from "./nodes.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./group_layers.js").Layers} Layers */
/** @typedef {keyof typeof QUANTITIES} Quantity */

const QUANTITIES = { done: "tasks done", busy: "busy threads" };
const HEIGHT = 130; // px
const MOST_IN_BOX = 4;
const OTHERS = "#888888";

/** @type {Chart} */
export const groupsOverTime = {
  name: "groups-over-time",
  title: "Progress of groups",
  place: "timeline",
  layers: [],
  answers: ["/group-graph"],
  help:
    "Tasks of each group that were done since the window's start, or threads that were busy with each: the groups that took longest, and the others as one. " +
    "Failed attempts count as well.",
  create: (parent, context) => new GroupsOverTime(parent, context),
};

class GroupsOverTime {
  #parent;
  #context;
  #plot;
  /** @type {Quantity} */
  #quantity = "done";
  /** @type {Layers|null} */
  #layers = null;
  /** @type {unknown[]} what the layers are made of */
  #made = [];
  /** @type {View|null} */
  #view = null;

  /** @param {HTMLElement} parent @param {Context} context */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    const choice = kindChoice("What is drawn of groups", QUANTITIES, this.#quantity, (quantity) => {
      this.#quantity = quantity;
      if (this.#view) this.draw(this.#view);
    });
    choice.classList.add("group-choice");
    parent.append(choice);
    this.#plot = new TimePlot(parent, context, groupsOverTime.title, HEIGHT);
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    const { answers, model, selection, source } = this.#context;
    const groupGraph = answers["/group-graph"];
    groupGraph.update(view);
    const made = [groupGraph.answer, this.#quantity, selection.prefix, model.version];
    if (made.some((one, place) => one !== this.#made[place])) {
      this.#made = made;
      this.#layers = groupGraph.answer && layersOf(groupGraph.answer, this.#quantity, selection.prefix);
    }
    const isEmpty = !this.#layers?.groups.length;
    const none = groupGraph.answer && isEmpty ? "No task was computed in this window." : "";
    const note =
      groupGraph.message ||
      none ||
      (source.isFile ? "A file has groups over time in bins of the whole run." : "");
    this.#plot.begin(view, this.#named(), note, !isEmpty);
    if (this.#layers && !isEmpty) this.#paint(this.#layers, view);
    this.#plot.point((time) => this.#valuesAt(time), { inBox: (values) => values.slice(0, MOST_IN_BOX) });
  }

  table() {
    const { start = 0, width = 0, bins = 0 } = this.#layers ?? {};
    const groups = this.#named();
    const rows = Array.from({ length: bins }, (_, bin) => [
      isoTime(start + (bin + 1) * width),
      ...groups.map(({ values }) => values[bin]),
    ]);
    return {
      columns: ["until (UTC)", ...groups.map(({ label }) => `${label} (${QUANTITIES[this.#quantity]})`)],
      rows,
    };
  }

  /** The layers from below with their names and colours; groups of one prefix differ in lightness. */
  #named() {
    const { model } = this.#context;
    /** @type {Map<number, number>} */
    const seen = new Map();
    const groups = this.#layers?.groups ?? [];
    const labels = labelsOf(groups.map(({ name }) => name));
    return groups.map(({ prefix, values }, at) => {
      const label = labels[at];
      if (prefix === null) return { label, color: OTHERS, values };
      const before = seen.get(prefix) ?? 0;
      seen.set(prefix, before + 1);
      const share = Math.max(100 - 22 * before, 34);
      return {
        label,
        color: before
          ? `color-mix(in srgb, ${model.color(prefix)} ${share}%, ${theme().surface})`
          : model.color(prefix),
        values,
      };
    });
  }

  /** @param {Layers} layers @param {View} view */
  #paint(layers, view) {
    this.#plot.paint(layers.highest, units.count, (context) => {
      const base = new Float64Array(layers.bins);
      for (const { color, values } of this.#named()) this.#drawLayer(context, layers, base, values, color);
    });
    this.#plot.describe(this.#valuesAt(view.playhead), `, ${QUANTITIES[this.#quantity]}`);
  }

  /**
   * @param {CanvasRenderingContext2D} context
   * @param {Layers} layers
   * @param {Float64Array} base raised by the values
   * @param {number[]} values
   * @param {string} color
   */
  #drawLayer(context, { start, width, bins, stop }, base, values, color) {
    const isDone = this.#quantity === "done";
    /** @type {[number, number, number][]} x, lower and upper edge */
    const edges = [];
    let before = 0;
    for (let bin = 0; bin < bins; bin++) {
      const end = Math.min(start + (bin + 1) * width, stop);
      const [low, high] = [base[bin], base[bin] + values[bin]];
      // what is done grows within a bin; busy threads are the bin's mean
      if (!isDone || bin === 0) edges.push([start + bin * width, isDone ? 0 : low, isDone ? 0 : high]);
      edges.push([end, low, high]);
      before = base[bin] = high;
    }
    if (!before && !values.some(Boolean)) return;
    context.fillStyle = color;
    context.globalAlpha = 0.85;
    context.beginPath();
    for (const [time, , high] of edges) context.lineTo(this.#plot.x(time), this.#plot.y(high));
    for (const [time, low] of edges.reverse()) context.lineTo(this.#plot.x(time), this.#plot.y(low));
    context.fill();
    context.globalAlpha = 1;
  }

  /** @param {number} time @returns {import("../drawing/readout.js").Value[]} */
  #valuesAt(time) {
    const layers = this.#layers;
    if (!layers) return [];
    const bin = Math.floor((time - layers.start) / layers.width);
    return this.#named().flatMap(({ label, color, values }) =>
      values[bin]
        ? [/** @type {import("../drawing/readout.js").Value} */ ([label, formatCount(values[bin]), color])]
        : [],
    );
  }
}
