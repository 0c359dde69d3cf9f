// The figures by which workers and hosts stand out.

import { formatBytes, formatCount, formatDuration } from "../../formatting.js";

/** @typedef {Omit<import("../../types.js").Schemas["Outlier"], "worker">} Figures */
/** @typedef {"duration_ratio"|"errors"|"memory_slope"|"paused"|"received"} FigureName */
/** @typedef {{name: FigureName, label: string, unit: string, help: string, text: (value: number) => string}} Figure */

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
  {
    name: "paused",
    label: "paused",
    unit: "s",
    help: "How long it was paused, as an agent recorded it.",
    text: formatDuration,
  },
  {
    name: "received",
    label: "received",
    unit: "bytes",
    help: "Data that it got from other workers.",
    text: formatBytes,
  },
];

/** @param {readonly Figures[]} outliers @returns {FigureName} the first that some of them has */
export function firstFigure(outliers) {
  return FIGURES.find(({ name }) => outliers.some((one) => (one[name] ?? 0) > 0))?.name ?? FIGURES[0].name;
}

/**
 * @template {Figures} Outlier
 * @returns {import("../data_table/data_table.js").Column<Outlier>[]}
 */
export function figureColumns() {
  return FIGURES.map(({ name, label, unit, help, text }) => ({
    name,
    title: label,
    unit,
    help,
    value: (outlier) => outlier[name],
    text: (outlier) => text(outlier[name] ?? 0),
  }));
}
