// What many lines of workers are drawn as: their median with a band of quantiles, and the few that deviate from it.

import { formatCount } from "../../formatting.js";
import { holds, placeAt } from "./series_points.js";

/** @typedef {import("./series_points.js").Points} Points */
/** @typedef {import("./series_chart.js").Line} Line */
/** @typedef {{start: number, stop: number, width: number}} Window `width` in px */

const MOST_LINES = 8; // workers whose lines can be told apart
const FEWEST_LINES = 4; // that can be tangled
const TANGLED = 1; // px up and down for each px of time, of the usual line
const MOST_OUTLIERS = 3;
const OUTLYING = 2; // times the usual deviation
const LEAST = 0.05; // of the greatest value: deviations below it aren't seen
const [LOW, HIGH] = [0.05, 0.95];
const COLUMN = 3; // px

/**
 * A band instead of the lines of workers, with the lines of those that deviate and of the chosen one over it, last.
 * @param {Line[]} lines
 * @param {Points[]} points of each
 * @param {Window} window
 * @param {string|null} chosen slot
 * @param {string} color of the band
 * @returns {{lines: Line[], band: Points}}
 */
export function summarise(lines, points, window, chosen, color) {
  const workers = lines.filter(({ slot }) => slot !== null);
  const times = timesOf(window);
  const known = points.filter((_, place) => lines[place].slot !== null).map((each) => sampled(each, times));
  const band = bandOf(known, times);
  const outliers = outliersOf(known, times, band).map((place) => workers[place]);
  /** @type {Line} */
  const all = {
    series: [],
    label: `${formatCount(workers.length)} workers: median, 5 % to 95 %`,
    color,
    slot: null,
    isAll: true,
  };
  const named = [
    ...outliers.filter(({ slot }) => slot !== chosen),
    ...workers.filter(({ slot }) => slot === chosen),
  ];
  return { band, lines: [all, ...lines.filter(({ slot }) => slot === null), ...named] };
}

/**
 * Whether lines are too many or too tangled to be followed with the eye.
 * @param {Points[]} lines
 * @param {Window} window
 * @param {number} height px of the plot
 * @param {boolean} were whether they were before: where it is close, a chart stays as it is
 */
export function areTangled(lines, window, height, were) {
  if (lines.length > MOST_LINES) return true;
  if (lines.length < FEWEST_LINES) return false;
  const visible = lines.map((points) => within(points, window));
  const peak = visible.flat().reduce((most, value) => Math.max(most, value), Number.MIN_VALUE);
  const travels = visible.map((values) => travelOf(values) * (height / peak));
  return quantile(Float64Array.from(travels).sort(), 0.5) > TANGLED * window.width * (were ? 0.5 : 1);
}

/**
 * @param {Points} points
 * @param {{start: number, stop: number}} window
 */
function within(points, { start, stop }) {
  return points.mean.slice(Math.max(placeAt(points, start), 0), placeAt(points, stop) + 1);
}

/** @param {number[]} values */
function travelOf(values) {
  return values.slice(1).reduce((sum, value, place) => sum + Math.abs(value - values[place]), 0);
}

/**
 * The times at which lines are compared: multiples of one step, so that they stay the same while the window moves.
 * @param {Window} window
 * @returns {number[]}
 */
export function timesOf({ start, stop, width }) {
  const step = 2 ** Math.ceil(Math.log2(((stop - start) * COLUMN) / width));
  const first = Math.floor(start / step);
  return Array.from({ length: Math.ceil(stop / step) - first + 1 }, (_, place) => (first + place) * step);
}

/**
 * The values of a line at times.
 * @param {Points} points
 * @param {number[]} times in order
 * @returns {Float64Array} NaN where it isn't known
 */
export function sampled(points, times) {
  let place = Math.max(placeAt(points, times[0]), 0);
  return Float64Array.from(times, (time) => {
    while (place + 1 < points.time.length && points.time[place + 1] <= time) place += 1;
    return holds(points, place, time) ? points.mean[place] : NaN;
  });
}

/**
 * The median of lines as a line, and their quantiles of 5 % and 95 % as its band.
 * @param {Float64Array[]} lines their values at `times`
 * @param {number[]} times
 * @returns {Points}
 */
export function bandOf(lines, times) {
  /** @type {Points} */
  const band = {
    time: [],
    mean: [],
    min: [],
    max: [],
    reach: times[1] - times[0],
    due: 0,
    breaks: new Set(),
    hasBand: true,
  };
  const buffer = new Float64Array(lines.length);
  times.forEach((time, place) => {
    let count = 0;
    for (const values of lines) if (!Number.isNaN(values[place])) buffer[count++] = values[place];
    if (count) {
      const values = buffer.subarray(0, count).sort();
      band.time.push(time);
      band.mean.push(quantile(values, 0.5));
      band.min.push(quantile(values, LOW));
      band.max.push(quantile(values, HIGH));
    } else if (band.time.length) band.breaks.add(band.time.length - 1);
  });
  if (band.time.length) band.breaks.add(band.time.length - 1);
  return band;
}

/**
 * The lines that are farther from the median than is usual, the farthest first.
 * @param {Float64Array[]} lines their values at `times`
 * @param {number[]} times
 * @param {Points} band of them
 * @returns {number[]} places in `lines`
 */
export function outliersOf(lines, times, band) {
  const medians = sampled(band, times);
  const deviations = lines.map((values) => {
    let [sum, count] = [0, 0];
    values.forEach((value, place) => {
      if (Number.isNaN(value)) return;
      sum += Math.abs(value - medians[place]);
      count += 1;
    });
    return count ? sum / count : 0;
  });
  const usual = quantile(Float64Array.from(deviations).sort(), 0.5);
  const least = LEAST * Math.max(...band.max, ...deviations);
  return [...deviations.keys()]
    .filter((place) => deviations[place] > Math.max(OUTLYING * usual, least))
    .sort((one, other) => deviations[other] - deviations[one])
    .slice(0, MOST_OUTLIERS);
}

/**
 * @param {Float64Array} sorted not empty
 * @param {number} share 0 to 1
 */
function quantile(sorted, share) {
  const place = share * (sorted.length - 1);
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  return low + (high - low) * (place - Math.floor(place));
}
