// The workers that stand out, by one figure.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { FIGURES, figureColumns, firstFigure } from "../../../frontend/charts/outliers/ranking.js";

/** @typedef {import("../../../frontend/types.js").Schemas["Outlier"]} Outlier */

/** @param {number} worker @param {Partial<Outlier>} figures @returns {Outlier} */
function outlier(worker, figures) {
  return {
    worker,
    duration_ratio: null,
    errors: null,
    memory_slope: null,
    paused: null,
    received: null,
    ...figures,
  };
}

test("the table begins with the first figure that says something", () => {
  assert.equal(firstFigure([outlier(1, { paused: 3, errors: 0 })]), "paused");
  assert.equal(firstFigure([]), "duration_ratio");
});

test("a column has the figure itself for sorting and CSV, and its text with the unit", () => {
  const growth = figureColumns().find(({ name }) => name === "memory_slope");
  const one = outlier(1, { memory_slope: 2048 });
  assert.deepEqual([growth?.value(one), growth?.unit, growth?.text?.(one)], [2048, "bytes/s", "2.00 KiB/s"]);
});

test("each figure has its unit", () => {
  const texts = Object.fromEntries(FIGURES.map(({ name, text }) => [name, text(1536)]));
  assert.match(texts.memory_slope, /B\/s$/);
  assert.match(texts.duration_ratio, /×$/);
  assert.match(FIGURES[2].text(-1536), /^−/);
});
