// The workers that stand out, by one figure.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { FIGURES, firstFigure, ranked } from "../../../frontend/charts/outliers/ranking.js";

/** @typedef {import("../../../frontend/types.js").Schemas["Outlier"]} Outlier */

/** @param {number} worker @param {Partial<Outlier>} figures @returns {Outlier} */
function outlier(worker, figures) {
  return { worker, duration_ratio: null, errors: null, memory_slope: null, paused: null, received: null, ...figures };
}

test("the greatest comes first, and who has nothing of the figure is left out", () => {
  const found = [
    outlier(1, { memory_slope: 5 }),
    outlier(2, { memory_slope: -7 }),
    outlier(3, { errors: 2 }),
    outlier(4, { memory_slope: 9 }),
  ];
  assert.deepEqual(ranked(found, "memory_slope").map(({ worker }) => worker), [4, 1]);
  assert.deepEqual(ranked(found, "paused"), []);
});

test("ten are listed, although the other figures name more workers", () => {
  const found = Array.from({ length: 50 }, (_, worker) => outlier(worker, { received: worker + 1 }));
  assert.deepEqual(ranked(found, "received").map(({ worker }) => worker), [49, 48, 47, 46, 45, 44, 43, 42, 41, 40]);
});

test("the table begins with the first figure that says something", () => {
  assert.equal(firstFigure([outlier(1, { paused: 3, errors: 0 })]), "paused");
  assert.equal(firstFigure([]), "duration_ratio");
});

test("each figure has its unit", () => {
  const texts = Object.fromEntries(FIGURES.map(({ name, text }) => [name, text(1536)]));
  assert.match(texts.memory_slope, /B\/s$/);
  assert.match(texts.duration_ratio, /×$/);
  assert.match(FIGURES[2].text(-1536), /^−/);
});
