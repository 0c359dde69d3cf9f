// The task stream tells how busy a lane was: counted in pixels.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { hitLanes } from "../../../frontend/charts/task_stream/lanes/hit.js";
import { Selection } from "../../../frontend/timeline/selection.js";
import { tileIndex, tileWidth } from "../../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { FIRST, block, busy, decoded, spans } from "../make.js";
import { near } from "../near.js";
import { HEIGHT, model, paint, painterOf, shortTasks, tileOf } from "../painted_lane.js";

const ROW = { lanes: [1], threads: 1 };
/** @typedef {import("../painted_lane.js").Rows} Rows */

/** The bin of a level after the one in which FIRST lies. @param {number} level */
function firstBin(level) {
  const [index, width] = [tileIndex(FIRST, level), tileWidth(level) / 512];
  return { index, width, first: Math.trunc((FIRST - index * 512 * width) / width) + 1 };
}

for (const duration of [0.005, 0.25, 0.5]) {
  test(`a lane looks as full as it was busy however many tasks there were: ${duration} s each`, () => {
    const expected = Math.max(duration, 0.35 / HEIGHT);
    near(paint(spans(shortTasks(1000, duration))).share, expected, 0.05 * expected);
  });
}

test("bins of the server fill columns like the tasks that they sum up", () => {
  const level = 20;
  const { index, width, first } = firstBin(level);
  const rows = [...Array(100).keys()].map((n) => [1, first + n, 1, 0, width * 0.3, 5]);
  const found = paint(busy(level, index, /** @type {any} */ (rows)), {
    seconds: 110 * width,
    width: 110,
    level,
  });
  near(found.sums[0], 100 * HEIGHT * 0.3, 0.05 * 100 * HEIGHT * 0.3);
});

test("rows that are left for later frames are painted as in one", () => {
  const data = spans(
    [1, 2, 3].flatMap((lane) =>
      shortTasks(50, lane / 4).map(([, ...rest]) => /** @type {Rows[number]} */ ([lane, ...rest])),
    ),
  );
  const rows = [1, 2, 3].map((lane) => ({ lanes: [lane], threads: 1, slot: "w", top: 6 * lane, height: 5 }));
  const window = { start: FIRST, stop: FIRST + 50, width: 80, height: 30, labelWidth: 40 };
  const [whole, parts] = [1, 2].map(() => painterOf());
  whole.paint(/** @type {any} */ (rows), [tileOf(data, 31)], window, [255, 255, 255]);
  const tile = tileOf(data, 31);
  const paintOne = () => parts.paint(/** @type {any} */ (rows), [tile], window, [255, 255, 255], 0);
  paintOne();
  assert.deepEqual([whole.isWhole, parts.isWhole], [true, false]);
  assert.notDeepEqual(parts.pixels.image?.data, whole.pixels.image?.data);
  for (let frame = 1; frame <= rows.length; frame++) paintOne(); // the first has found which rows of the tile are of which lane
  assert.ok(parts.isWhole);
  assert.deepEqual(parts.pixels.image?.data, whole.pixels.image?.data);
});

test("what is painted is painted again once its window, tiles or colours are others", () => {
  const selection = new Selection();
  const painter = painterOf({ selection });
  const rows = [{ lanes: [1], threads: 1, slot: "w", top: 0, height: HEIGHT }];
  const window = { start: FIRST, stop: FIRST + 50, width: 80, height: HEIGHT, labelWidth: 40 };
  const [quarter, half] = [0.25, 0.5].map((duration) => tileOf(spans(shortTasks(50, duration)), 31));
  const filled = (/** @type {import("../../../frontend/types.js").Tile} */ tile, stop = window.stop) => {
    const before = painter.pixels.image?.data.slice();
    painter.paint(rows, [tile], { ...window, stop }, [255, 255, 255]);
    return before !== undefined && `${painter.pixels.image?.data}` !== `${before}`;
  };
  filled(quarter);
  assert.equal(filled(quarter), false);
  assert.ok(filled(half));
  assert.ok(filled(half, window.stop + 50));
  selection.hide([1]);
  assert.equal(filled(half, window.stop + 50), false, "its colours are others only once that is said");
  painter.forget();
  assert.ok(filled(half, window.stop + 50));
});

test("a tile beside the window has nothing painted again", () => {
  const painter = painterOf();
  const rows = [{ lanes: [1], threads: 1, slot: "w", top: 0, height: HEIGHT }];
  const window = { start: FIRST, stop: FIRST + 50, width: 80, height: HEIGHT, labelWidth: 40 };
  const tile = tileOf(spans(shortTasks(50, 0.5)), 31);
  const beside = { ...tile, start: window.stop + 1, stop: window.stop + 2 };
  painter.paint(rows, [tile], window, [255, 255, 255]);
  const clear = painter.pixels.clear.bind(painter.pixels);
  let cleared = 0;
  painter.pixels.clear = (...sizes) => (cleared++, clear(...sizes));
  painter.paint(rows, [tile, beside], window, [255, 255, 255]);
  assert.equal(cleared, 0);
  painter.paint(rows, [tile, { ...beside, start: window.stop - 1 }], window, [255, 255, 255]);
  assert.equal(cleared, 1);
});

test("bins wider than a pixel fill all the pixels that they cover", () => {
  const level = 20;
  const { index, width, first } = firstBin(level);
  const found = paint(busy(level, index, [[1, first, 1, 0, width / 2, 5]]), {
    seconds: 4 * width,
    width: 400,
    level,
  });
  near(found.sums[0], (100 * HEIGHT) / 2, 0.05 * 50 * HEIGHT);
});

test("a span of two pixels and more is drawn as itself", () => {
  const found = paint(spans([[1, 1, 0, 0, FIRST + 200, FIRST + 800]]));
  near(found.sums[0], 300 * HEIGHT, 3 * HEIGHT);
  assert.deepEqual(found.top, [0, 0, 255]);
  assert.equal(found.labelled, 1);
});

test("a span of two tiles is one bar with one label", () => {
  const painter = painterOf();
  const level = 29;
  const edge = (tileIndex(FIRST, level) + 1) * tileWidth(level);
  const data = spans([[1, 1, 0, 0, edge - 100, edge + 100]]);
  const tiles = [-1, 0].map((beside) =>
    makeTile("spans", level, tileIndex(edge, level) + beside, true, decoded(data)),
  );
  const window = { start: edge - 200, stop: edge + 200, width: 400, height: HEIGHT, labelWidth: 40 };
  const rows = [{ lanes: [1], threads: 1, slot: "w", top: 0, height: HEIGHT }];
  painter.paint(/** @type {any} */ (rows), tiles, window, [255, 255, 255]);
  assert.deepEqual(
    painter.labelled.map(({ left, width }) => [left, width]),
    [[100, 200]],
  );
});

test("erred tasks are black and transfers red at Dask's alpha", () => {
  assert.deepEqual(paint(spans([[1, 1, 0, 1, FIRST, FIRST + 1000]])).top, [0, 0, 0]);
  assert.deepEqual(paint(spans([[1, 1, 1, 0, FIRST, FIRST + 1000]])).top, [255, 153, 153]);
});

test("what ran one after the other in a column is stacked", () => {
  /** @type {Rows} */
  const rows = [];
  for (let n = 0; n < 1000; n++) {
    rows.push([1, 1, 0, 0, FIRST + n, FIRST + n + 0.4], [1, 2, 0, 0, FIRST + n + 0.4, FIRST + n + 0.8]);
  }
  const [red, green, blue] = paint(spans(rows)).sums.map((sum) => sum / (500 * HEIGHT));
  near(red, 0.8, 0.024);
  near([green, blue], [0.4, 0.4], 0.012);
});

test("a transfer beside a full column is laid over it", () => {
  /** @type {Rows} */
  const rows = [];
  for (let n = 0; n < 1000; n++) {
    rows.push([1, 1, 0, 0, FIRST + n, FIRST + n + 1], [1, 1, 1, 0, FIRST + n, FIRST + n + 0.5]);
  }
  const { bottom, top } = paint(spans(rows));
  assert.deepEqual(bottom, [0, 0, 255]);
  near(top, [102, 0, 153], 2);
});

test("choosing a prefix dims the others", () => {
  const data = spans([[1, 1, 0, 0, FIRST + 200, FIRST + 800]]);
  const whole = paint(data).share;
  assert.equal(paint(data, { selected: { prefix: 1 } }).share, whole);
  assert.ok(paint(data, { selected: { prefix: 2 } }).share < 0.2 * whole);
});

test("a hidden prefix is not drawn, and nothing of it is under the mouse", () => {
  const data = spans([
    [1, 1, 0, 0, FIRST + 200, FIRST + 800],
    [1, 1, 1, 0, FIRST + 800, FIRST + 900],
  ]);
  assert.equal(paint(data, { hidden: [1] }).share, 0);
  assert.equal(paint(data, { hidden: [2] }).share, paint(data).share);
  const tiles = [tileOf(data, 31)];
  assert.equal(hitLanes(tiles, model(), ROW, FIRST + 500, 1, new Set([1])), null);
});

/** @param {Rows} rows */
const stripes = (rows) => new Set(paint(spans(rows)).middle.map(String)).size;

test("what colours mean is marked by stripes too: erred tasks, transfers and disk, but not computing", () => {
  assert.equal(stripes([[1, 1, 0, 0, FIRST, FIRST + 1000]]), 1);
  for (const [action, status] of [
    [0, 1],
    [1, 0],
    [2, 0],
    [4, 0],
  ]) {
    assert.equal(
      stripes([[1, 1, action, status, FIRST, FIRST + 1000]]),
      2,
      `action ${action}, status ${status}`,
    );
  }
});

test("a task of over twice the time of the others of its prefix has dashed edges", () => {
  /** @type {Rows} */
  const rows = [...Array(10).keys()].map((n) => [1, 1, 0, 0, FIRST + n * 35, FIRST + n * 35 + 30]);
  const edge = (/** @type {number} */ seconds) => {
    const { middle } = paint(
      spans([...rows, [1, 1, 0, 0, FIRST + 500 - seconds / 2, FIRST + 500 + seconds / 2]]),
    );
    return new Set(
      middle
        .slice(0, 6 * HEIGHT)
        .filter((_, place) => place % HEIGHT === 0)
        .map(String),
    ).size;
  };
  assert.equal(edge(200), 2);
  assert.equal(edge(38), 1);
});

test("a chosen task is seen however short it is", () => {
  const found = paint(spans(shortTasks(1000, 0.001)), { selected: { key: "inc-500" } });
  assert.ok(found.sums[0] > HEIGHT);
});

test("what is computed again has black and white stripes at its left edge, and a first attempt has none", () => {
  const hasStripes = (/** @type {string[]} */ keys) => {
    const rows = keys.map((key, number) => {
      const start = FIRST + number * 500; // the second one begins in the middle
      return {
        lane: 1,
        prefix: 1,
        action: 0,
        status: 0,
        start,
        stop: start + 300,
        nbytes: 0,
        key,
        typename: "",
      };
    });
    return paint(block("span", rows, { layer: "spans" })).middle.some(
      (color) => String(color) === "255,255,255",
    );
  };
  assert.deepEqual([hasStripes(["a", "a"]), hasStripes(["a", "b"])], [true, false]);
});

test("the relatives of a chosen task stay bright however short they are, and everything else is dimmed", () => {
  const rows = /** @type {Rows} */ (
    [...Array(10).keys()].map((n) => [1, 1, 0, 0, FIRST + n * 100, FIRST + n * 100 + 100])
  );
  const all = paint(spans(rows)).share;
  const chosen = { selected: { key: "inc-3", prefix: 1 } };
  assert.ok(
    paint(spans(rows), chosen).share > 0.5 * all,
    "of a task without relatives, the others of its prefix are seen",
  );
  const related = ["inc-1", "inc-9"];
  const share = paint(spans(rows), { ...chosen, related }).share / all;
  assert.ok(share > 0.3 && share < 0.4, `${share} of the lane: three tasks and a shadow of seven`);
  assert.ok(paint(spans(shortTasks(1000, 0.001)), { ...chosen, related }).sums[0] >= 3 * HEIGHT);
});

test("a stolen task has a black corner at its upper right, and others have none", () => {
  const steal = { key: "inc-0", prefix: 1, time: 0, victim: 1, thief: 2 };
  const rows = /** @type {Rows} */ ([[1, 1, 0, 0, FIRST, FIRST + 510]]); // it ends in what `middle` shows
  const options = { width: 1000, seconds: 1000 };
  const hasBlack = (/** @type {ReturnType<typeof paint>} */ { middle }) =>
    middle.some((color) => `${color}` === "0,0,0");
  assert.ok(!hasBlack(paint(spans(rows), options)));
  const stolen = paint(spans(rows), { ...options, stolen: (key) => (key === "inc-0" ? steal : null) });
  assert.ok(hasBlack(stolen));
  assert.deepEqual(stolen.bottom, paint(spans(rows), options).bottom);
});
