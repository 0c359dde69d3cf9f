// A time axis in seconds since the starts of runs.

import { formatDuration } from "../../formatting.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";

const HEIGHT = 22; // px
const APART = 90; // px between two ticks, at least
const EDGE = 24; // px: a tick so near to the end has its words before it
const STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 43200, 86400];

export class ElapsedAxis {
  #surface;

  /** @param {HTMLElement} element */
  constructor(element) {
    this.#surface = new Surface(element, "Time since the start of each run");
  }

  /**
   * @param {number} start seconds
   * @param {number} stop
   * @param {number} width px of the plot
   */
  draw(start, stop, width) {
    const left = leftGutter();
    this.#surface.clear(left + width + RIGHT_GUTTER, HEIGHT);
    const { context } = this.#surface;
    const colors = theme();
    context.font = "11px system-ui, sans-serif";
    context.textBaseline = "top";
    context.strokeStyle = colors.border;
    context.fillStyle = colors.muted;
    const step = stepFor(((stop - start) / width) * APART);
    for (let mark = Math.ceil(Math.max(start, 0) / step) * step; mark < stop; mark += step) {
      const x = Math.round(left + ((mark - start) / (stop - start)) * width) + 0.5;
      context.beginPath();
      context.moveTo(x, HEIGHT - 6);
      context.lineTo(x, HEIGHT);
      context.stroke();
      context.textAlign = x > left + width - EDGE ? "right" : "center";
      context.fillText(mark === 0 ? "start" : formatDuration(mark), x, 2);
    }
  }
}

/** @param {number} least seconds */
function stepFor(least) {
  const known = STEPS.find((step) => step >= least);
  if (known && least >= 0.5) return known;
  const magnitude = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((step) => step * magnitude >= least) ?? 10) * magnitude;
}
