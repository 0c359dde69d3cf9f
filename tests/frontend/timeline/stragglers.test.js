// Which tasks are stragglers, whatever the level of detail of the tiles.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import {
  Stragglers,
  excessOf,
  stragglersOf,
  usualOf,
  usualText,
} from "../../../frontend/timeline/tasks/stragglers.js";
import { tileIndex, tileWidth } from "../../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { FIRST, busy, decoded, spans } from "../make.js";
import { near } from "../near.js";

const LEVEL = 24;
const INDEX = tileIndex(FIRST, LEVEL);
const [START, LENGTH] = [INDEX * tileWidth(LEVEL), tileWidth(LEVEL)];

/** @param {...Uint8Array} data @returns the tile in which FIRST lies */
const tileOf = (...data) => makeTile("spans", LEVEL, INDEX, true, decoded(...data));

/** @param {number[]} durations @returns {Parameters<typeof spans>[0]} */
const tasks = (durations) =>
  durations.map((seconds, at) => [1, 1, 0, 0, START + at * 100, START + at * 100 + seconds]);

/** @param {Parameters<typeof tileOf>} data */
function found(...data) {
  const tiles = [tileOf(...data)];
  return stragglersOf(tiles, usualOf(tiles), START, START + LENGTH);
}

test("a task of twice the median and a second more, that is an outlier, is a straggler", () => {
  const list = found(spans(tasks([1, 1, 2, 2, 2, 3, 6, 80, 100])));
  assert.deepEqual(
    list.map((one) => [one.key, one.usual, excessOf(one)]),
    [["inc-8", 2, 98]],
    "80 is below the fence of 6 × (6 ÷ 2)^2.5 s",
  );
  const emptyOnes = [0.001, 0.001, 0.002, 1, 1, 1, 1, 1, 1];
  assert.equal(
    found(spans(tasks([...emptyOnes, 33]))).length,
    1,
    "over 1 × 4^2.5 s, as if the quartiles were 0.25 and 1",
  );
  assert.equal(found(spans(tasks([...emptyOnes, 31]))).length, 0);
  assert.equal(usualText(list[0].usual), "2.00 s is usual");
  assert.deepEqual(found(spans(tasks([0.1, 0.1, 0.1, 0.1, 0.1, 1.05]))), [], "less than a second more");
  assert.deepEqual(found(spans(tasks([4, 4, 4, 4, 4, 7.9]))), [], "less than twice");
  assert.equal(found(spans(tasks([4, 4, 4, 4, 4, 8]))).length, 1);
});

test("a long task comes before one that is more times as long as usual", () => {
  const short = tasks([0.01, 0.01, 0.01, 0.01, 0.01, 1.5]);
  const long = tasks([2, 2, 2, 2, 2, 30]).map(([lane, , ...rest]) => [lane, 2, ...rest]);
  const list = found(spans(/** @type {any} */ ([...short, ...long])));
  assert.deepEqual(
    list.map(({ prefix }) => prefix),
    [2, 1],
  );
});

test("tasks that are summed up count with their mean", () => {
  const summed = busy(LEVEL, INDEX, [
    [1, 3, 1, 0, 20, 40],
    [1, 4, 1, 0, 20, 40],
  ]); // 80 tasks of 0.5 s
  const data = [summed, spans(tasks([1.4, 3, 30]))];
  near(usualOf([tileOf(...data)]).get(1)?.median ?? NaN, 0.5);
  assert.deepEqual(
    found(...data).map(({ start, stop }) => Math.round(stop - start)),
    [30, 3],
  );
});

test("the median is that of the drawn tasks where fewer are summed up", () => {
  const summed = busy(LEVEL, INDEX, [[1, 3, 1, 0, 1, 2]]);
  near(usualOf([tileOf(summed, spans(tasks([4, 5, 6, 7, 8, 9, 90])))]).get(1)?.median ?? NaN, 6);
});

test("of a few tasks nothing is said, nor of transfers", () => {
  assert.deepEqual(found(spans(tasks([1, 1, 90]))), []);
  const transfers = tasks([1, 1, 1, 1, 1, 1, 90]).map(([lane, prefix, , ...rest]) => [
    lane,
    prefix,
    1,
    ...rest,
  ]);
  assert.deepEqual(found(spans(/** @type {any} */ (transfers))), []);
});

test("a task in two tiles is one straggler, and one outside of the window is none", () => {
  const rows = tasks([1, 1, 1, 1, 1]);
  const long = /** @type {typeof rows[0]} */ ([1, 1, 0, 0, START + LENGTH - 50, START + LENGTH + 50]);
  const next = makeTile("spans", LEVEL, INDEX + 1, true, decoded(spans([long])));
  const tiles = [tileOf(spans([long, ...rows])), next];
  assert.equal(stragglersOf(tiles, usualOf(tiles), START, START + 2 * LENGTH).length, 1);
  assert.equal(stragglersOf(tiles, usualOf(tiles), START, START + 600).length, 0);
});

test("tiles are looked at twice a second at most, and again when they changed in between", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stragglers = new Stragglers();
  let changes = 0;
  stragglers.addEventListener("change", () => (changes += 1));
  stragglers.update([], 0, 1);
  const before = stragglers.list;
  stragglers.update([tileOf(spans(tasks([1, 1, 1, 1, 1, 90])))], START, START + LENGTH);
  assert.equal(stragglers.list, before);
  t.mock.timers.tick(500);
  assert.equal(changes, 1);
  assert.equal(stragglers.list.length, 1);
});

test("tiles and a window that were looked at are not looked at again", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const stragglers = new Stragglers();
  const tiles = [tileOf(spans(tasks([1, 1, 1, 1, 1, 90])))];
  const update = () => stragglers.update([...tiles], START, START + LENGTH);
  let changes = 0;
  stragglers.addEventListener("change", () => {
    changes += 1;
    update(); // as the page does, which is drawn again
  });
  stragglers.update([], 0, 1);
  update();
  update();
  t.mock.timers.tick(10_000);
  assert.equal(changes, 1);
});
