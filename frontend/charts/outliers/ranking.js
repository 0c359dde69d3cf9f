// The figures by which workers and hosts stand out, and those with the greatest of one.

import { formatBytes, formatCount, formatDuration } from "../../formatting.js";

/** @typedef {Omit<import("../../types.js").Schemas["Outlier"], "worker">} Figures */
/** @typedef {"duration_ratio"|"errors"|"memory_slope"|"paused"|"received"} FigureName */
/** @typedef {{name: FigureName, label: string, unit: string, help: string, text: (value: number) => string}} Figure */

const MOST = 10;

/** @type {Figure[]} */
export const FIGURES = [
  {
    name: "duration_ratio",
    label: "duration",
    unit: "times the median",
    help: "Computing time, relative to what its tasks take at the medians of their prefixes.",
    text: (value) => `${value.toFixed(2)} ×`,
  },
  { name: "errors", label: "errors", unit: "", help: "Failed attempts.", text: formatCount },
  {
    name: "memory_slope",
    label: "growth",
    unit: "bytes/s",
    help: "By how much the memory of its process grows.",
    text: (value) => (value < 0 ? `−${formatBytes(-value)}/s` : `${formatBytes(value)}/s`),
  },
  { name: "paused", label: "paused", unit: "s", help: "How long it was paused, as an agent recorded it.", text: formatDuration },
  { name: "received", label: "received", unit: "bytes", help: "Data that it got from other workers.", text: formatBytes },
];

/**
 * @template {Figures} Outlier
 * @param {Outlier[]} outliers
 * @param {FigureName} name
 * @returns {Outlier[]} the greatest first; those without the figure are left out
 */
export function ranked(outliers, name) {
  const value = (/** @type {Figures} */ outlier) => outlier[name] ?? 0;
  return outliers
    .filter((outlier) => value(outlier) > 0)
    .sort((one, other) => value(other) - value(one))
    .slice(0, MOST);
}

/** @param {Figures[]} outliers @returns {FigureName} the first that some of them has */
export function firstFigure(outliers) {
  return FIGURES.find(({ name }) => ranked(outliers, name).length)?.name ?? FIGURES[0].name;
}
