// The memory of a worker in its last minute, with its limit. It is drawn from the table below it.

import { formatBytes, formatDuration, formatPercent } from "../../formatting.js";
import { Surface } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";
import { ticks, units } from "../series/value_axis.js";

/**
 * Times are seconds, values bytes; `limit` is 0 where there is none, `terminate` the share of it at which a nanny
 * kills its worker.
 * @typedef {{times: number[], values: number[], start: number, end: number, endLabel: string,
 *   limit: number, terminate: number}} Minute
 */

const [LEFT, RIGHT, TOP, BOTTOM] = [76, 12, 16, 22]; // px around the plot
const STEP = 10; // s between two labels of the time axis
const MOST_DOTS = 100;
const FONT = "11px system-ui, sans-serif";

/**
 * @param {HTMLTableElement} table with data-memory
 * @returns {Minute}
 */
export function readMinute(table) {
  const rows = [...table.querySelectorAll("tbody tr")].map((row) => /** @type {HTMLElement} */ (row).dataset);
  const { start, end, endLabel, limit, terminate } = table.dataset;
  return {
    times: rows.map((row) => Number(row.time)),
    values: rows.map((row) => Number(row.bytes)),
    start: Number(start),
    end: Number(end),
    endLabel: endLabel ?? "",
    limit: Number(limit),
    terminate: Number(terminate),
  };
}

export class LastMinute {
  #element;
  #minute;
  #surface;
  #tooltip;
  #highest = 1;

  /**
   * @param {HTMLElement} element as high as the chart
   * @param {Minute} minute
   */
  constructor(element, minute) {
    this.#element = element;
    this.#minute = minute;
    const peak = Math.max(...minute.values);
    const limit = minute.limit ? `, of a limit of ${formatBytes(minute.limit)}` : "";
    this.#surface = new Surface(
      element,
      `Memory of the worker's process: at most ${formatBytes(peak)}${limit}`,
    );
    this.#tooltip = new Tooltip(element);
    element.addEventListener("pointermove", (event) => this.#hover(event));
    element.addEventListener("pointerleave", () => this.#tooltip.hide());
    new ResizeObserver(() => this.#draw()).observe(element);
    window.addEventListener("themechange", () => this.#draw());
  }

  /** @param {number} time */
  #x(time) {
    const { start, end } = this.#minute;
    return LEFT + ((time - start) / (end - start)) * (this.#surface.width - LEFT - RIGHT);
  }

  /** @param {number} value */
  #y(value) {
    return TOP + (1 - value / this.#highest) * (this.#surface.height - TOP - BOTTOM);
  }

  #draw() {
    this.#surface.clear(this.#element.clientWidth, this.#element.clientHeight);
    const { context } = this.#surface;
    context.font = FONT;
    const { values, limit } = this.#minute;
    const marks = ticks(Math.max(limit, ...values), units.bytes);
    this.#highest = marks[marks.length - 1];
    this.#drawValues(marks);
    this.#drawTimes();
    this.#drawMemory();
    if (limit) this.#drawLimits();
    this.#surface.canvas.dataset.drawn = String(values.length);
  }

  /** @param {number[]} marks */
  #drawValues(marks) {
    const { context, width } = this.#surface;
    const colors = theme();
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const mark of marks) {
      const y = Math.round(this.#y(mark)) + 0.5;
      line(context, LEFT, y, width - RIGHT, y, colors.border);
      context.fillStyle = colors.muted;
      context.fillText(units.bytes.write(mark), LEFT - 6, y);
    }
  }

  #drawTimes() {
    const { context, width, height } = this.#surface;
    const { start, end, endLabel } = this.#minute;
    const colors = theme();
    const step = width < 500 ? 2 * STEP : STEP;
    context.textBaseline = "top";
    context.fillStyle = colors.muted;
    context.textAlign = "center";
    for (let before = step; before < end - start - 1; before += step) {
      const x = this.#x(end - before);
      line(context, x, height - BOTTOM, x, height - BOTTOM + 4, colors.border);
      context.fillText(`−${before} s`, x, height - BOTTOM + 6);
    }
    context.textAlign = "right";
    context.fillText(endLabel, width - RIGHT, height - BOTTOM + 6);
    line(context, width - RIGHT, TOP, width - RIGHT, height - BOTTOM, colors.danger);
  }

  #drawMemory() {
    const { context } = this.#surface;
    const { times, values } = this.#minute;
    const color = theme().accent;
    context.beginPath();
    times.forEach((time, at) => context.lineTo(this.#x(time), this.#y(values[at])));
    context.strokeStyle = context.fillStyle = color;
    context.lineWidth = 1.5;
    context.stroke();
    context.lineTo(this.#x(times[times.length - 1]), this.#y(0));
    context.lineTo(this.#x(times[0]), this.#y(0));
    context.globalAlpha = 0.15;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1;
    for (let at = 0; at < times.length && times.length <= MOST_DOTS; at++) {
      context.beginPath();
      context.arc(this.#x(times[at]), this.#y(values[at]), 1.8, 0, 7);
      context.fill();
    }
  }

  #drawLimits() {
    const { context, width } = this.#surface;
    const { limit, terminate } = this.#minute;
    const colors = theme();
    context.textAlign = "left";
    context.setLineDash([4, 3]);
    const [top, below] = [Math.round(this.#y(limit)) + 0.5, Math.round(this.#y(limit * terminate)) + 0.5];
    line(context, LEFT, top, width - RIGHT, top, colors.text);
    if (terminate) line(context, LEFT, below, width - RIGHT, below, colors.danger);
    context.setLineDash([]);
    context.textBaseline = "bottom";
    context.fillStyle = colors.text;
    context.fillText(`limit ${formatBytes(limit)}`, LEFT + 4, top - 1);
    if (!terminate) return; // its nanny doesn't
    context.textBaseline = "top";
    context.fillStyle = colors.danger;
    context.fillText(`the nanny terminates it above (${formatPercent(terminate)})`, LEFT + 4, below + 3);
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const box = this.#element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const { times, values, end, endLabel, limit } = this.#minute;
    const distances = times.map((time) => Math.abs(this.#x(time) - x));
    const at = distances.indexOf(Math.min(...distances));
    /** @type {[string, string][]} */
    const lines = [["memory", formatBytes(values[at])]];
    if (limit) lines.push(["of its limit", formatPercent(values[at] / limit)]);
    this.#tooltip.show(x, y, `${formatDuration(end - times[at])} before ${endLabel}`, lines);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} fromX
 * @param {number} fromY
 * @param {number} toX
 * @param {number} toY
 * @param {string} color
 */
function line(context, fromX, fromY, toX, toY, color) {
  context.strokeStyle = color;
  context.beginPath();
  context.moveTo(fromX, fromY);
  context.lineTo(toX, toY);
  context.stroke();
}
