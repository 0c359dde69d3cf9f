// What the threads of all workers did and waited for, over time: stacked areas that add up to the number of threads.

import { isoTime } from "../chart_menu/table.js";
import { TimePlot } from "../drawing/time_plot.js";
import { missingText, paintedColor, partText } from "./kinds.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */

/** `threads` on average in each bin. @typedef {{label: string, color: string, threads: number[]}} Layer */

const HEIGHT = 130;
/** @type {import("../series/value_axis.js").Unit} */
const UNIT = { name: "threads", write: (value) => String(Math.round(100 * value) / 100), base: 10 };

/** @type {Chart} */
export const threadTimesOverTime = {
  name: "thread-times-over-time",
  title: "What the threads did and waited for",
  place: "timeline",
  layers: [],
  answers: ["/thread-times"],
  help: "All threads of all workers, by what they did or waited for. The table below says what each means.",
  create: (parent, context) => new OverTime(parent, context),
};

class OverTime {
  #parent;
  #context;
  #plot;
  /** @type {unknown} what the layers are made of */
  #made = null;
  /** @type {Layer[]} from the bottom */
  #layers = [];
  /** @type {number[][]} of each bin: the upper edge of each layer */
  #tops = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#plot = new TimePlot(parent, context, threadTimesOverTime.title, HEIGHT);
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const threadTimes = this.#context.answers["/thread-times"];
    threadTimes.update(view);
    if (threadTimes.answer !== this.#made) this.#makeLayers();
    const missing = missingText(this.#context);
    this.#plot.begin(view, this.#layers, missing || partText(this.#context), missing === "");
    if (!missing) {
      const peak = Math.max(0, ...this.#tops.map((tops) => tops[tops.length - 1]));
      this.#plot.paint(peak, UNIT, (context) => this.#drawLayers(context));
      this.#plot.describe(this.#valuesAt(view.playhead));
    }
    this.#plot.point((time) => this.#valuesAt(time));
  }

  table() {
    const { start = 0, width = 0 } = this.#over ?? {};
    const rows = this.#tops.map((_, bin) => [
      isoTime(start + bin * width),
      ...this.#layers.map(({ threads }) => threads[bin]),
    ]);
    return {
      columns: ["time (UTC)", ...this.#layers.map(({ label }) => `${label} (threads)`)],
      rows,
      note: partText(this.#context),
    };
  }

  get #over() {
    return this.#context.answers["/thread-times"].answer?.over_time ?? null;
  }

  #makeLayers() {
    const { answer } = this.#context.answers["/thread-times"];
    this.#made = answer;
    this.#layers = answer ? layersOf(answer) : [];
    const bins = this.#layers[0]?.threads.length ?? 0;
    this.#tops = Array.from({ length: bins }, (_, bin) => {
      let sum = 0;
      return this.#layers.map(({ threads }) => (sum += threads[bin]));
    });
  }

  /** @param {CanvasRenderingContext2D} context */
  #drawLayers(context) {
    const { start, width } = /** @type {{start: number, width: number}} */ (this.#over);
    const plot = this.#plot;
    this.#tops.forEach((tops, bin) => {
      const [left, right] = [plot.x(start + bin * width), plot.x(start + (bin + 1) * width)];
      let floor = plot.y(0);
      tops.forEach((value, place) => {
        const top = plot.y(value);
        context.fillStyle = this.#layers[place].color;
        // half a pixel more, or lines show between the bins
        context.fillRect(left, top, right - left + 0.5, floor - top);
        floor = top;
      });
    });
  }

  /** @param {number} time @returns {import("../drawing/readout.js").Value[]} from the top, as they are drawn */
  #valuesAt(time) {
    const over = this.#over;
    const bin = over ? Math.floor((time - over.start) / over.width) : -1;
    const some = this.#layers.filter(({ threads }) => threads[bin] > 0.005);
    return some.reverse().map(({ label, color, threads }) => [label, threads[bin].toFixed(2), color]);
  }
}

/**
 * What took any time, from the bottom.
 * @param {import("../../types.js").Schemas["ThreadTimes"]} answer
 * @returns {Layer[]}
 */
function layersOf({ kinds, over_time: { width, seconds } }) {
  const layers = kinds.map(({ kind, title }, place) => ({
    label: title,
    threads: seconds[place].map((time) => time / width),
    get color() {
      return paintedColor(kind); // of the theme as it is
    },
  }));
  return layers.filter((_, place) => kinds[place].seconds > 0);
}
