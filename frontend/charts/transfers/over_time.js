// The bytes that workers received from others, over time; of the selected worker what it received and what it sent.

import { formatCountOf } from "../../formatting.js";
import { isoTime } from "../chart_menu/table.js";
import { workerColor } from "../drawing/palette.js";
import { theme } from "../drawing/theme.js";
import { TimePlot } from "../drawing/time_plot.js";
import { workerName } from "../worker/name.js";
import { formatRate, missingText, partText } from "./names.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["TransfersOverTime"]} OverTime */

/** `rates` in bytes a second, of each bin. @typedef {{label: string, color: string, rates: number[], isArea: boolean}} Step */

const HEIGHT = 110;
const [RECEIVED, SENT] = [workerColor(0), workerColor(1)];
/** @type {import("../series/value_axis.js").Unit} */
const UNIT = { name: "bytes/s", write: formatRate, base: 1024 };

/** @type {Chart} */
export const transfersOverTime = {
  name: "transfers-over-time",
  title: "Data moved between workers",
  place: "timeline",
  layers: [],
  help:
    "Bytes that workers received from others, a second, where the transfers began. With a selected worker also what it received and " +
    "what it sent.",
  create: (parent, context) => new TransfersOverTime(parent, context),
};

class TransfersOverTime {
  #parent;
  #context;
  #plot;
  /** @type {Step[]} */
  #steps = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#plot = new TimePlot(parent, context, transfersOverTime.title, HEIGHT);
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { selection } = this.#context;
    const transfers = this.#context.features.of(Transfers);
    transfers.show(view, selection.worker);
    this.#steps = this.#stepsOf(this.#over);
    const missing = missingText(this.#context);
    this.#plot.begin(
      view,
      this.#steps,
      missing || transfers.message || partText(this.#context),
      missing === "",
    );
    if (!missing) {
      const peak = Math.max(0, ...this.#steps.flatMap(({ rates }) => rates));
      this.#plot.paint(peak, UNIT, (context) => this.#steps.forEach((step) => this.#draw(context, step)));
      this.#plot.describe(this.#valuesAt(view.playhead));
    }
    this.#plot.point((time) => this.#valuesAt(time), {
      inTooltip: (values, time) => [
        ...values,
        ["began", formatCountOf(this.#over?.count[this.#binAt(time)] ?? 0, "transfer")],
      ],
    });
  }

  table() {
    const { start = 0, width = 0 } = this.#over ?? {};
    const rows = (this.#over?.count ?? []).map((count, bin) => [
      isoTime(start + bin * width), count, ...this.#steps.map(({ rates }) => Math.round(rates[bin] * width)),
    ]); // prettier-ignore
    return {
      columns: ["time (UTC)", "transfers", ...this.#steps.map(({ label }) => `${label} (bytes)`)],
      rows,
      note: partText(this.#context),
    };
  }

  get #over() {
    return this.#context.features.of(Transfers).answer?.over_time ?? null;
  }

  /** @param {OverTime|null} over @returns {Step[]} */
  #stepsOf(over) {
    if (!over || missingText(this.#context)) return [];
    const rates = (/** @type {number[]} */ bytes) => bytes.map((amount) => amount / over.width);
    const steps = [{ label: "all workers", color: theme().accent, rates: rates(over.nbytes), isArea: true }];
    const name = workerName(this.#context, this.#context.selection.worker);
    if (over.received)
      steps.push({
        label: `received by ${name}`,
        color: RECEIVED,
        rates: rates(over.received),
        isArea: false,
      });
    if (over.sent)
      steps.push({ label: `sent by ${name}`, color: SENT, rates: rates(over.sent), isArea: false });
    return steps;
  }

  /** @param {CanvasRenderingContext2D} context @param {Step} step */
  #draw(context, { color, rates, isArea }) {
    const { start, width } = /** @type {OverTime} */ (this.#over);
    const plot = this.#plot;
    const floor = plot.y(0);
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(plot.x(start), floor);
    rates.forEach((rate, bin) => {
      context.lineTo(plot.x(start + bin * width), plot.y(rate));
      context.lineTo(plot.x(start + (bin + 1) * width), plot.y(rate));
    });
    context.lineTo(plot.x(start + rates.length * width), floor);
    context.globalAlpha = isArea ? 0.55 : 1;
    if (isArea) context.fill();
    else context.stroke();
    context.globalAlpha = 1;
  }

  /** @param {number} time @returns {import("../drawing/readout.js").Value[]} */
  #valuesAt(time) {
    const bin = this.#binAt(time);
    return this.#steps.flatMap(({ label, color, rates }) =>
      bin in rates ? [[label, formatRate(rates[bin]), color]] : [],
    );
  }

  /** @param {number} time */
  #binAt(time) {
    const over = this.#over;
    return over ? Math.floor((time - over.start) / over.width) : -1;
  }
}
