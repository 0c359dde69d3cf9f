// The answers of the server about the window: those that the charts declare.

import { WindowData } from "./window_data.js";

/** @typedef {import("../contract.js").Answers} Answers */
/** @typedef {{[Path in keyof Answers]: WindowData<Answers[Path]>}} AnswersOfWindow by path; those that a chart declares */

/**
 * @param {import("./sources/source.js").Source} source
 * @param {import("../types.js").Chart[]} charts
 * @returns {AnswersOfWindow}
 */
export function answersOf(source, charts) {
  const paths = new Set(charts.flatMap(({ answers }) => answers ?? []));
  const found = [...paths].map((path) => [path, new WindowData(source, path)]);
  return Object.fromEntries(found);
}
