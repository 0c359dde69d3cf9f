// The value axis: round ticks from zero, and the format of values.

import { formatBytes, formatDuration, withCommas } from "../../formatting.js";
import { theme } from "../drawing/theme.js";

const STEPS = [1, 2, 2.5, 5, 10];
const BYTE_STEPS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * A kind of value: its unit, how it is written, and which steps its axis takes.
 * @typedef {{name: string, write: (value: number) => string, base: 10|1024}} Unit
 */

/** @type {Record<"bytes"|"bytesPerSecond"|"percent"|"seconds"|"count"|"perSecond"|"watts"|"celsius", Unit>} */
export const units = {
  bytes: { name: "bytes", write: (value) => formatBytes(Math.round(value)), base: 1024 },
  bytesPerSecond: { name: "bytes/s", write: (value) => `${formatBytes(Math.round(value))}/s`, base: 1024 },
  percent: { name: "%", write: (value) => `${round(value)} %`, base: 10 },
  seconds: { name: "s", write: (value) => (value === 0 ? "0" : formatDuration(value)), base: 10 },
  count: { name: "count", write: (value) => round(value), base: 10 },
  watts: { name: "W", write: (value) => `${round(value)} W`, base: 10 },
  celsius: { name: "°C", write: (value) => `${round(value)} °C`, base: 10 },
  perSecond: { name: "/s", write: (value) => `${round(value)} /s`, base: 10 },
};

/**
 * Ticks from 0 to at least `highest`, two or three steps.
 * @param {number} highest
 * @param {Unit} unit
 * @returns {number[]}
 */
export function ticks(highest, unit) {
  if (!(highest > 0)) return [0, 1];
  const magnitude = unit.base ** Math.floor(Math.log(highest / 2) / Math.log(unit.base));
  const steps = unit.base === 1024 ? BYTE_STEPS : STEPS;
  const step = (steps.find((each) => each * magnitude * 3 >= highest) ?? unit.base) * magnitude;
  const count = Math.max(1, Math.ceil(highest / step - 1e-9));
  return Array.from({ length: count + 1 }, (_, index) => index * step);
}

/**
 * Lines across the plot, with their values beside it.
 * @param {CanvasRenderingContext2D} context
 * @param {number[]} marks
 * @param {Unit} unit
 * @param {(value: number) => number} y
 * @param {[number, number]} range of x
 * @param {number} top px: no value is written above
 */
export function drawAxis(context, marks, unit, y, [left, right], top) {
  const colors = theme();
  context.font = "11px system-ui, sans-serif";
  context.textAlign = "right";
  context.textBaseline = "middle";
  for (const value of marks) {
    const height = Math.round(y(value)) + 0.5;
    context.strokeStyle = colors.border;
    context.beginPath();
    context.moveTo(left, height);
    context.lineTo(right, height);
    context.stroke();
    context.fillStyle = colors.muted;
    context.fillText(unit.write(value), left - 6, Math.max(height, top), left - 6); // squeezed on a phone
  }
}

/** @param {number} value */
function round(value) {
  return withCommas(String(Number.isInteger(value) ? value : Number(value.toPrecision(3))));
}
