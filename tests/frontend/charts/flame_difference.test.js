// The difference of two profiles: shares of frames and functions, colours, and what is selected in another cluster.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Difference } from "../../../frontend/charts/flame_graph/difference.js";
import { differenceColor, differenceMark } from "../../../frontend/charts/flame_graph/difference_colors.js";
import { translated } from "../../../frontend/charts/flame_graph/sides.js";
import { makeTree } from "../../../frontend/charts/flame_graph/tree.js";
import { formatAgainst, parseAgainst } from "../../../frontend/charts/flame_graph/options.js";
import { Model } from "../../../frontend/timeline/model.js";
import { near } from "../near.js";

const [RUN, INC, LOAD, SAVE] = ["run", "inc", "load", "save"].map((name, id) => ({
  id,
  name,
  file: "/code.py",
}));
const STACKS = /** @type {Record<number, any[]>} */ ({
  1: [RUN, INC],
  2: [RUN, LOAD],
  3: [RUN, SAVE],
  4: [RUN, INC, INC],
});
const stacks = /** @type {any} */ ({
  get: (/** @type {number} */ id) => STACKS[id].map((of) => ({ of, line: 1 })),
});

/** @param {Record<number, number>} samples by stack */
function tree(samples) {
  return makeTree(new Map(Object.entries(samples).map(([id, count]) => [Number(id), count])), stacks).root;
}

/** @param {Difference} difference @param {import("../../../frontend/charts/flame_graph/tree.js").Node} top */
function functions(difference, top) {
  return Object.fromEntries(
    difference
      .functions(top)
      .map(({ of, own, total }) => [
        of.name,
        [own.difference, total.difference].map((share) => Math.round(share * 100)),
      ]),
  );
}

test("shares are compared, so a window that is ten times as long and did the same has no differences", () => {
  const here = tree({ 1: 60, 2: 40 });
  const difference = new Difference(here, tree({ 1: 600, 2: 400 }));
  assert.deepEqual(functions(difference, here), { run: [0, 0], inc: [0, 0], load: [0, 0] });
  assert.equal(differenceMark(0), "");
});

test("a frame has the shares of the frame with the same callers, and none where there is no such frame", () => {
  const here = tree({ 1: 50, 3: 50 });
  const difference = new Difference(here, tree({ 1: 90, 2: 10 }));
  const [run] = here.children.values();
  assert.deepEqual(difference.of(run), { here: 1, there: 1, difference: 0 });
  near(difference.of(/** @type {any} */ (run.children.get(INC.id))).difference, -0.4);
  assert.deepEqual(difference.of(/** @type {any} */ (run.children.get(SAVE.id))), {
    here: 0.5,
    there: 0,
    difference: 0.5,
  });
  near(difference.scale, 0.5);
});

test("functions that only one of the profiles has are in the table, one that calls itself once", () => {
  const here = tree({ 1: 50, 4: 50 });
  const difference = new Difference(here, tree({ 2: 20, 1: 80 }));
  assert.deepEqual(functions(difference, here), { run: [0, 0], inc: [20, 20], load: [-20, -20] });
});

test("of a frame that is zoomed into, functions below it are compared, by shares of all samples", () => {
  const here = tree({ 1: 50, 4: 50 });
  const [run] = here.children.values();
  const inc = /** @type {any} */ (run.children.get(INC.id));
  const difference = new Difference(here, tree({ 2: 20, 1: 80 }));
  assert.deepEqual(functions(difference, inc), { inc: [20, 20] });
});

test("each profile is the other one's difference with another sign", () => {
  const [one, other] = [tree({ 1: 50, 3: 50 }), tree({ 1: 90, 2: 10 })];
  const [there, back] = [
    functions(new Difference(one, other), one),
    functions(new Difference(other, one), other),
  ];
  for (const [name, shares] of Object.entries(there))
    assert.deepEqual(
      back[name].map((share) => share + 0),
      shares.map((share) => 0 - share),
    );
});

test("more is red and less is blue, the more the stronger, and a triangle says the same", () => {
  const channels = (/** @type {string} */ color) => color.match(/\d+/g)?.map(Number) ?? [];
  const [more, little, less] = [0.2, 0.02, -0.2].map((share) => channels(differenceColor(share, 0.2)));
  assert.ok(more[0] > more[2] && less[2] > less[0]);
  assert.ok(little[0] - little[2] < more[0] - more[2]);
  assert.deepEqual(differenceColor(5, 0.2), differenceColor(0.2, 0.2));
  assert.deepEqual([0.2, 0.001, -0.2].map(differenceMark), ["▲ ", "", "▼ "]);
});

/** @param {number} shift of the ids @param {string[]} prefixes @param {string[]} workers */
function origin(shift, prefixes, workers) {
  const model = new Model();
  model.load(
    /** @type {any} */ ({
      lanes: [],
      series: {},
      prefixes: prefixes.map((name, at) => ({ id: shift + at, name, color: "#112233" })),
      workers: workers.map((slot, at) => ({ id: shift + at, slot, name: slot, address: slot, started: 0 })),
    }),
  );
  return /** @type {any} */ ({ model });
}

test("prefixes and workers are found by their names in another cluster", () => {
  const [here, there] = [origin(1, ["inc", "load"], ["w0", "w1"]), origin(11, ["load", "inc"], ["w1"])];
  const wanted = { source: /** @type {"tasks"} */ ("tasks"), slot: here.model.slotOf(2), prefix: 1 };
  const { wanted: found, missing } = translated(wanted, here, there);
  assert.deepEqual([found.prefix, found.slot?.lifetimes.map(({ id }) => id), missing], [12, [11], ""]);
  assert.match(translated({ ...wanted, slot: here.model.slotOf(1) }, here, there).missing, /no worker w0/);
  assert.match(translated({ ...wanted, slot: null }, here, origin(1, ["load"], [])).missing, /no prefix inc/);
  assert.equal(translated({ ...wanted, source: "scheduler" }, here, origin(1, [], [])).missing, "");
});

test("what is compared with is in an address, and nothing else is", () => {
  for (const against of /** @type {const} */ ([
    { kind: "before" },
    { kind: "run", id: 31 },
    { kind: "window", start: 1.7e9, stop: 1.7e9 + 0.25 },
  ])) {
    assert.deepEqual(parseAgainst(formatAgainst(against)), against);
  }
  assert.equal(formatAgainst(null), "");
  for (const text of [
    "",
    "run-0",
    "run-x",
    "run-99999999999",
    "1-2",
    "1700000002-1700000001",
    "1700000000",
    "1700000000-9999999999",
    "after",
    "<b>",
  ]) {
    assert.equal(parseAgainst(text), null, text);
  }
});
