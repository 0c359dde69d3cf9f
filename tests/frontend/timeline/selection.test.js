// What is selected and hidden.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Selection } from "../../../frontend/timeline/selection.js";

/** @param {Selection} selection */
const of = (selection) => [selection.prefix, [...selection.hidden]];

test("a prefix of the legend is highlighted, then hidden, then shown again", () => {
  const selection = new Selection();
  selection.cycle(1);
  assert.deepEqual(of(selection), [1, []]);
  selection.cycle(2);
  assert.deepEqual(of(selection), [2, []]);
  selection.cycle(2);
  assert.deepEqual(of(selection), [null, [2]]);
  selection.cycle(2);
  assert.deepEqual(of(selection), [null, []]);
});

test("hiding a prefix leaves the others as they are", () => {
  const selection = new Selection();
  selection.cycle(1);
  selection.toggleHidden(2);
  selection.toggleHidden(3);
  assert.deepEqual(of(selection), [1, [2, 3]]);
  selection.toggleHidden(2);
  assert.deepEqual(of(selection), [1, [3]]);
});

test("clearing the selection shows what is hidden", () => {
  const selection = new Selection();
  selection.toggleHidden(2);
  selection.clear();
  assert.deepEqual(of(selection), [null, []]);
});

test("hiding the same again changes nothing", () => {
  const selection = new Selection();
  let changes = 0;
  selection.addEventListener("change", () => (changes += 1));
  selection.hide([2]);
  selection.hide([2]);
  assert.equal(changes, 1);
});
