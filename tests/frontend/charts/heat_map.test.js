// The heat map: cells from tiles and live frames, the order and groups of rows, colours, and where rows are.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { cellsOf, weightedMedian } from "../../../frontend/charts/heat_map/cells.js";
import { rowsOfLine, shades, stops } from "../../../frontend/charts/heat_map/colors.js";
import { heatLayout, rowsAt, topOfRow } from "../../../frontend/charts/heat_map/heat_layout.js";
import {
  arranged,
  chosenGrouping,
  groupings,
  outstanding,
  rowValues,
} from "../../../frontend/charts/heat_map/heat_rows.js";
import { heatTable } from "../../../frontend/charts/heat_map/heat_table.js";
import { quantilesOf } from "../../../frontend/charts/heat_map/quantiles.js";
import { QUANTITIES, topOf } from "../../../frontend/charts/heat_map/quantities.js";
import { contrast, distance, toLab } from "../../../frontend/timeline/colors/oklab.js";
import { Model } from "../../../frontend/timeline/model.js";
import { tileIndex, tileWidth } from "../../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { ACTIONS } from "../../../frontend/contract.js";
import { FIRST, bins, block, decoded, spans } from "../make.js";
import { near } from "../near.js";

const LEVEL = 17; // bins of 0.13 s, wide ones of 1.05 s, tiles of 67 s
const STEP = (8 * 2 ** LEVEL) / 1e6;
const INDEX = tileIndex(FIRST, LEVEL) + 1;
const START = INDEX * tileWidth(LEVEL);
const COMPUTE = ACTIONS.indexOf("compute");

function worker(id, name, changes = {}) {
  const times = { started: START - 10, ended: null, end_reason: "", status: "running", position: id };
  const address = `tcp://10.0.0.${id}:4000`;
  return {
    id,
    name,
    address,
    host: "node-a",
    slot: name,
    nthreads: 2,
    memory_limit: 0,
    tags: {},
    ...times,
    ...changes,
  };
}

function modelOf(workers) {
  const model = new Model();
  const lanes = workers.map(({ id }) => ({ id: 10 * id, worker: id, thread: 1, position: 0 }));
  const ids = workers.map(({ id }) => id);
  const of = (type, place) => ({
    ids: ids.map((id) => 100 * id + place),
    workers: ids,
    metric: "m",
    labels: { type },
    interval: 2,
  });
  const memory = [of("process", 1), of("managed", 2)];
  model.load({
    workers,
    lanes,
    prefixes: [7, 8].map((id) => ({ id, name: `p${id}`, color: "#111111", seconds: 0, is_other: false })),
    series: { memory },
  });
  return model;
}

function tile(...blocks) {
  return makeTile("x.each", LEVEL, INDEX, true, decoded(...blocks));
}

const META = { level: LEVEL, index: INDEX };
const values = (rows) =>
  block(
    "worker-value",
    rows.map(([worker, bin, mean, count]) => ({ worker, bin, mean, count })),
    META,
  );
const busy = (rows) => {
  const names = ["worker", "bin", "busy", "prefix", "seconds", "tasks", "errors"];
  return block(
    "worker-busy",
    rows.map((row) => Object.fromEntries(names.map((name, at) => [name, row[at]]))),
    META,
  );
};

function cells(tiles, name, model, until = Infinity) {
  const found = cellsOf(tiles, name, model, model.slotsBetween(START, START + 60), STEP, until);
  return { ...found, at: (row, column) => found.values[row * found.grid.columns + column] };
}

test("a cell is the mean of what the tile and live frames say of a worker's process", () => {
  const model = modelOf([worker(1, "a"), worker(2, "b")]);
  const live = bins("memory", [
    [101, START + 3.2 * STEP, 30],
    [102, START + 3.2 * STEP, 999],
    [201, START + 3.2 * STEP, NaN],
  ]);
  const found = cells(
    [
      tile(
        values([
          [1, 2, 10, 4],
          [1, 3, 10, 1],
          [2, 2, 5, 1],
          [99, 2, 5, 1],
        ]),
        live,
      ),
    ],
    "memory",
    model,
  );
  assert.deepEqual([found.at(0, 2), found.at(0, 3), found.at(1, 2)], [10, 20, 5]);
  assert.ok(Number.isNaN(found.at(1, 3)));
});

test("a value holds between two samples, and not where none came for longer", () => {
  const model = modelOf([worker(1, "a")]);
  const found = cells(
    [
      tile(
        values([
          [1, 2, 10, 1],
          [1, 5, 20, 1],
          [1, 30, 5, 1],
        ]),
      ),
    ],
    "memory",
    model,
  );
  assert.deepEqual(
    [2, 3, 4, 5].map((column) => found.at(0, column)),
    [10, 10, 10, 20],
  );
  assert.ok([6, 20, 29, 31].every((column) => Number.isNaN(found.at(0, column))));
});

test("threads are busy for their share of the time that they were there, and idle workers are not unknown", () => {
  const model = modelOf([worker(1, "a"), worker(2, "b", { ended: START + 4 * STEP }), worker(3, "c")]);
  const live = spans([[10, 7, COMPUTE, 0, START + 5 * STEP, START + 7 * STEP]]);
  const found = cells([tile(busy([[1, 2, STEP, 7, STEP, 1, 0]]), live)], "busy", model, START + 20 * STEP);
  near(found.at(0, 2), 50, 1e-3);
  near(found.at(0, 5), 50, 1e-3);
  near(found.at(0, 6), 50, 1e-3);
  assert.equal(found.at(2, 2), 0);
  assert.equal(found.at(1, 3), 0);
  assert.ok(Number.isNaN(found.at(1, 4)), "its worker had ended");
  assert.ok(Number.isNaN(found.at(2, 21)), "not yet known");
});

test("tasks that erred are counted where they ended, also those that come live", () => {
  const model = modelOf([worker(1, "a")]);
  const live = spans([[10, 7, COMPUTE, 1, START + 2.5 * STEP, START + 4.5 * STEP]]);
  const found = cells([tile(busy([[1, 2, 0.5, 7, 0.5, 1, 3]]), live)], "errors", model);
  assert.deepEqual(
    [2, 3, 4].map((column) => found.at(0, column)),
    [3, 0, 1],
  );
});

test("durations are relative to the median of the prefix, whatever a prefix' tasks take", () => {
  const model = modelOf([worker(1, "a"), worker(2, "b"), worker(3, "slow")]);
  const rows = [1, 2].flatMap((id) => [
    [id, 2, 1, 7, 1, 10, 0],
    [id, 3, 1, 8, 1, 1, 0],
  ]);
  const found = cells(
    [tile(busy([...rows, [3, 2, 1, 7, 0.9, 3, 0], [3, 3, 1, 8, 1, 0.5, 0]]))],
    "duration",
    model,
  );
  near(found.at(0, 2), 1, 1e-6);
  near(found.at(0, 3), 1, 1e-6);
  near(found.at(2, 2), 3, 1e-5);
  near(found.at(2, 3), 2, 1e-5);
  assert.equal(found.prefixes?.[2 * found.grid.columns + 3], 8);
  const live = spans([[30, 7, COMPUTE, 0, START + 5 * STEP, START + 5 * STEP + 0.4]]);
  near(cells([tile(busy(rows), live)], "duration", model).at(2, 5), 4, 1e-4);
});

test("half of the tasks take at most the median", () => {
  assert.equal(
    weightedMedian([
      [1, 1],
      [20, 10],
      [9, 3],
    ]),
    2,
  );
  assert.equal(weightedMedian([]), 0);
});

test("a coarser tile that stands in for another fills its columns", () => {
  const model = modelOf([worker(1, "a")]);
  const coarse = makeTile(
    "x.each",
    LEVEL + 2,
    INDEX >> 2,
    true,
    decoded(
      block("worker-value", [{ worker: 1, bin: (INDEX % 4) * 16 + 1, mean: 7, count: 8 }], {
        level: LEVEL + 2,
        index: INDEX >> 2,
      }),
    ),
  );
  const found = cells([{ ...coarse, start: START, stop: START + tileWidth(LEVEL) }], "memory", model);
  assert.deepEqual(
    [4, 5, 6, 7].map((column) => found.at(0, column)),
    [7, 7, 7, 7],
  );
  assert.ok(Number.isNaN(found.at(0, 8)));
});

test("the successive lifetimes of a worker share a row", () => {
  const model = modelOf([
    worker(1, "a", { ended: START + 3 * STEP }),
    worker(2, "a", { started: START + 3 * STEP }),
  ]);
  const found = cells(
    [
      tile(
        values([
          [1, 2, 10, 1],
          [2, 4, 20, 1],
        ]),
      ),
    ],
    "memory",
    model,
  );
  assert.equal(found.grid.slots.length, 1);
  assert.deepEqual([found.at(0, 2), found.at(0, 4)], [10, 20]);
});

test("rows are sorted by value or name in groups, and what is unknown comes last", () => {
  const tags = (zone) => ({ tags: { zone } });
  const workers = [
    worker(1, "w1", tags("x")),
    worker(2, "w2", tags("y")),
    worker(3, "w10", tags("x")),
    worker(4, "w3", tags("y")),
  ];
  const { slots } = { slots: modelOf(workers).slotsBetween(START, START + 1) };
  assert.deepEqual(
    slots.map(({ key }) => key),
    ["w1", "w2", "w3", "w10"],
  );
  const by = (group, order) => {
    const found = arranged(slots, [1, NaN, 9, 4], group, order);
    return [
      found.order.map((row) => slots[row].key),
      found.groups.map(({ label, first, count }) => [label, first, count]),
    ];
  };
  assert.deepEqual(by("none", "value"), [["w3", "w10", "w1", "w2"], [["", 0, 4]]]);
  assert.deepEqual(by("zone", "value"), [
    ["w3", "w2", "w10", "w1"],
    [
      ["y", 0, 2],
      ["x", 2, 2],
    ],
  ]);
  assert.deepEqual(by("zone", "name"), [
    ["w1", "w10", "w2", "w3"],
    [
      ["x", 0, 2],
      ["y", 2, 2],
    ],
  ]);
  assert.deepEqual(groupings(slots), ["none", "zone"]);
  assert.equal(chosenGrouping(slots, "zone"), "zone");
  assert.equal(chosenGrouping(slots, "rack"), "none", "a tag that none has");
});

test("workers are grouped by host where hosts have several", () => {
  const slots = (hosts) =>
    modelOf(hosts.map((host, at) => worker(at + 1, `w${at}`, { host }))).slotsBetween(START, START + 1);
  assert.equal(chosenGrouping(slots(["a", "a", "b", "b"]), null), "host");
  assert.equal(chosenGrouping(slots(["a", "b", "c"]), null), "none");
  assert.equal(chosenGrouping(slots(["a", "b", "c"]), "host"), "host");
});

test("workers far above the others have names, and none where all are alike", () => {
  assert.deepEqual(outstanding([1, 1.1, 0.9, 1, 9, 1, NaN, 4]), [4, 7]);
  assert.deepEqual(outstanding([1, 1.1, 0.9, 1, 1.05, 1]), []);
});

test("all rows fit: with names, or as low as they have to be, and a click finds them", () => {
  const order = (count) => Array.from({ length: count }, (_, row) => count - 1 - row);
  const named = {
    order: order(4),
    groups: [
      { label: "a", first: 0, count: 2 },
      { label: "b", first: 2, count: 2 },
    ],
  };
  const few = heatLayout(named, 400, 1);
  assert.equal(few.hasNames, true);
  assert.deepEqual(rowsAt(few, named, 0), [], "the heading");
  assert.deepEqual(rowsAt(few, named, Number(topOfRow(few, named, 1)) + 1), [1]);
  const many = { order: order(1000), groups: [{ label: "", first: 0, count: 1000 }] };
  const low = heatLayout(many, 400, 1);
  assert.deepEqual([low.hasNames, low.height, low.lines], [false, 400, 400]);
  const shown = Array.from({ length: 400 }, (_, y) => rowsAt(low, many, y + 0.5)).flat();
  assert.deepEqual(shown, many.order, "each row once");
  assert.ok(rowsAt(low, many, Number(topOfRow(low, many, 500)) + 0.1).includes(500));
  assert.deepEqual(rowsOfLine(many.order, 0, 1000), [999]);
});

test("the greatest value of a duration that has a colour of its own is five times the median", () => {
  assert.equal(topOf(QUANTITIES.duration, 300), 5);
  assert.equal(topOf(QUANTITIES.duration, 1.1), 2);
  assert.equal(topOf(QUANTITIES.busy, 3), 100);
  assert.ok(topOf(QUANTITIES.memory, 5e9) >= 5e9);
});

test("the table and the quantiles have the values of the window", () => {
  const model = modelOf([worker(1, "<b>"), worker(2, "b"), worker(3, "c")]);
  const tiles = [
    tile(
      values(
        [1, 2, 3].flatMap((id) => [
          [id, 2, 10 * id, 1],
          [id, 3, 20 * id, 1],
        ]),
      ),
    ),
  ];
  const found = cells(tiles, "memory", model);
  const view = { start: START + 2 * STEP, stop: START + 4 * STEP, playhead: START + 3.5 * STEP };
  const means = rowValues(found, false, view.start, view.stop);
  assert.deepEqual(means, [15, 30, 45]);
  const { columns, rows } = heatTable(found, QUANTITIES.memory, [2, 0], means, "zone", view);
  assert.deepEqual(columns, [
    "worker",
    "host",
    "zone",
    "mean (bytes)",
    "least (bytes)",
    "most (bytes)",
    "at the playhead (bytes)",
  ]);
  assert.deepEqual(rows[0].slice(3), [45, 30, 60, 60]);
  const { low, middle, high } = quantilesOf(found);
  assert.deepEqual([middle[2], middle[3]], [20, 40]);
  near(low[2], 11, 1e-9);
  near(high[2], 29, 1e-9);
});

/** @type {Record<string, import("../../../frontend/timeline/colors/oklab.js").Rgb>} */
const BACKGROUNDS = { light: [246, 247, 249], dark: [18, 21, 27] };
for (const [name, background] of Object.entries(BACKGROUNDS)) {
  test(`colours on the ${name} theme grow away from the background in steps that can be told apart`, () => {
    const all = shades(stops(name === "dark"));
    const colors = [0, 1, 2, 3, 4].map((at) => all[Math.round((at / 4) * (all.length - 1))]);
    const strengths = all.map((color) => contrast(color, background));
    assert.ok(
      strengths.every((strength, at) => !at || strength >= strengths[at - 1] - 0.02),
      "never back",
    );
    assert.ok(strengths[strengths.length - 1] > 7);
    assert.ok(distance(toLab(colors[0]), toLab(background)) > 0.05, "the least value is not unknown");
    colors.slice(1).forEach((color, at) => assert.ok(distance(toLab(color), toLab(colors[at])) > 0.12));
  });
}
