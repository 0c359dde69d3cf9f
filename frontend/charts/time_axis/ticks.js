// Ticks of a time axis: round clock times, and round times since the window's start, as many as fit.

import { formatDuration } from "../../formatting.js";
import { digitsFor, formatTime } from "../../timeline/times.js";

/** @typedef {{time: number, text: string}} Tick */

const [MINUTE, HOUR, DAY] = [60, 3600, 86_400];
/** Seconds between two ticks. */
const STEPS = [
  ...[1e-4, 1e-3, 1e-2, 1e-1].flatMap((unit) => [unit, 2 * unit, 5 * unit]),
  ...[1, 2, 5, 10, 15, 30],
  ...[1, 2, 5, 10, 15, 30].map((minutes) => minutes * MINUTE),
  ...[1, 2, 3, 6, 12].map((hours) => hours * HOUR),
  ...[1, 2, 7, 14, 28, 84, 364].map((days) => days * DAY),
];
const CHARACTER = 7; // px, at most, of a digit in the axis' font
const APART = 16; // px between two texts, at least
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/**
 * Ticks at round clock times of the browser's time zone.
 * @param {number} start of the window
 * @param {number} stop
 * @param {number} width px of the plot
 * @returns {Tick[]}
 */
export function clockTicks(start, stop, width) {
  const zone = -new Date(start * 1000).getTimezoneOffset() * MINUTE;
  const step = stepFor(start, stop, width, clockText);
  return multiples(start + zone, stop + zone, step).map((local) => ({
    time: local - zone,
    text: clockText(local - zone, step),
  }));
}

/**
 * Ticks at round times since the window's start.
 * @param {number} start of the window
 * @param {number} stop
 * @param {number} width px of the plot
 * @returns {Tick[]}
 */
export function elapsedTicks(start, stop, width) {
  const length = stop - start;
  const step = stepFor(0, length, width, elapsedText);
  return multiples(0, length, step).map((elapsed) => ({ time: start + elapsed, text: elapsedText(elapsed) }));
}

/**
 * An instant as exactly as a window's pixels show it: clock time, and time since the window's start.
 * @param {number} time
 * @param {number} start of the window
 * @param {number} stop
 */
export function instantText(time, start, stop) {
  const clock = formatTime(time, Math.max(digitsFor(stop - start), 1));
  return time < start ? clock : `${clock}  +${formatDuration(time - start)}`;
}

/**
 * The smallest step at which the texts have room.
 * @param {number} first
 * @param {number} last
 * @param {number} width px
 * @param {(time: number, step: number) => string} write
 */
function stepFor(first, last, width, write) {
  const pixels = width / (last - first);
  const fits = (/** @type {number} */ step) => {
    const room = (step * pixels - APART) / CHARACTER;
    if (room < 1) return false;
    return (
      write(last, step).length <= room &&
      multiples(first, last, step).every((time) => write(time, step).length <= room)
    );
  };
  return STEPS.find(fits) ?? STEPS[STEPS.length - 1];
}

/**
 * The multiples of `step` in [first, last].
 * @param {number} first
 * @param {number} last
 * @param {number} step
 */
function multiples(first, last, step) {
  const from = Math.ceil(first / step - 1e-3);
  const to = Math.floor(last / step + 1e-3);
  return Array.from({ length: Math.max(to - from + 1, 0) }, (_, index) => (from + index) * step);
}

/**
 * @param {number} time
 * @param {number} step
 */
function clockText(time, step) {
  const rounded = time + Math.min(step, 1) / 100; // a sum of floats may be a little less than the tick
  const date = new Date(rounded * 1000);
  const isMidnight = date.getHours() === 0 && date.getMinutes() === 0 && date.getSeconds() === 0;
  if (step >= DAY || (step >= MINUTE && isMidnight)) return `${MONTHS[date.getMonth()]} ${date.getDate()}`;
  if (step >= MINUTE) return formatTime(rounded, 0).slice(0, 5);
  return formatTime(rounded, step >= 1 ? 0 : Math.ceil(-Math.log10(step) - 1e-6));
}

/** @param {number} elapsed */
function elapsedText(elapsed) {
  return elapsed === 0 ? "0" : `+${short(elapsed)}`;
}

/** @param {number} elapsed a round number: without decimals that say nothing */
function short(elapsed) {
  return formatDuration(elapsed)
    .replace(/(\.\d*?)0+(?= )/, "$1")
    .replace(/\.(?= )/, "");
}
