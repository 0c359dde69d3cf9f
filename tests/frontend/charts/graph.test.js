// Graphs: layouts, states and what was computed at an instant, the way of the arrow keys, layers over time.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { layersOf } from "../../../frontend/charts/graph/group_layers.js";
import { layeredLayout } from "../../../frontend/charts/graph/layered_layout.js";
import { labelsOf, nodesOfGroups } from "../../../frontend/charts/graph/nodes.js";
import { nodeAt, nodeBeside } from "../../../frontend/charts/graph/painter.js";
import { neighbours } from "../../../frontend/charts/graph/selected_node.js";
import { computedBy, stateOfTasks, statesAt } from "../../../frontend/charts/graph/states.js";
import { Viewport } from "../../../frontend/charts/graph/viewport.js";

const [COLUMN, ROW] = [100, 20];
const [RELEASED, WAITING, PROCESSING, MEMORY] = [0, 1, 4, 5];

/** @param {number} count @param {[number, number][]} edges what is needed, and what needs it */
const layoutOf = (count, edges, folding = { aspect: 2, shortest: 12 }) =>
  layeredLayout({
    ...folding,
    count,
    needed: edges.map(([needed]) => needed),
    task: edges.map(([, task]) => task),
    column: COLUMN,
    row: ROW,
  });

/** @param {import("../../../frontend/charts/graph/layered_layout.js").Layout} layout */
function assertApart({ x, y, width, height }) {
  /** @type {Map<number, number[]>} */
  const columns = new Map();
  x.forEach((at, node) => columns.set(at, [...(columns.get(at) ?? []), y[node]]));
  for (const column of columns.values()) {
    column.sort((one, other) => one - other);
    column.forEach((at, place) =>
      assert.ok(place === 0 || at - column[place - 1] >= ROW - 0.1, "nodes lie over each other"),
    );
  }
  assert.ok(
    Math.min(...x) >= 0 && Math.max(...x) <= width && Math.min(...y) >= 0 && Math.max(...y) <= height + 0.1,
  );
}

test("what a node needs is on its left, and nodes don't lie over each other", () => {
  const edges = /** @type {[number, number][]} */ ([[0, 2], [1, 2], [2, 3], [2, 4], [0, 4], [5, 6]]); // prettier-ignore
  const layout = layoutOf(8, edges);
  for (const [needed, task] of edges) assert.ok(layout.x[needed] < layout.x[task]);
  assert.ok(Math.abs(layout.y[2] - (layout.y[0] + layout.y[1]) / 2) < ROW, "in the middle of what it needs");
  assertApart(layout);
});

test("cycles of groups are cut, and a group that needs itself stays one node", () => {
  const layout = layoutOf(4, [[0, 1], [1, 2], [2, 1], [2, 3], [3, 3]]); // prettier-ignore
  assert.ok(layout.x[0] < layout.x[1] && layout.x[1] < layout.x[2] && layout.x[2] < layout.x[3]);
  assertApart(layout);
});

test("graphs of thousands of nodes, whether wide, deep or of many parts, are neither a line nor a column", () => {
  const numbers = Array.from({ length: 2_000 }, (_, number) => number);
  /** @type {[string, [number, number][]][]} */
  const graphs = [
    ["a chain", numbers.slice(1).map((node) => [node - 1, node])],
    ["all of one", numbers.slice(1).map((node) => [0, node])],
    ["chains of ten", numbers.filter((node) => node % 10).map((node) => [node - 1, node])],
    ["layers", numbers.slice(50).flatMap((node) => [[node - 50, node], [node - 50 + (node % 7), node]])], // prettier-ignore
    ["nothing", []],
  ];
  for (const [name, edges] of graphs) {
    const layout = layoutOf(2_000, edges);
    assertApart(layout);
    const aspect = layout.width / layout.height;
    assert.ok(aspect > 0.3 && aspect < 8, `${name}: ${aspect}`);
  }
});

test("a chain of a few groups is folded on a narrow screen, so that the names in its boxes can be read", () => {
  const chain = /** @type {[number, number][]} */ ([1, 2, 3, 4, 5, 6, 7].map((node) => [node - 1, node]));
  const narrow = layoutOf(8, chain, { aspect: 1, shortest: 2 });
  assertApart(narrow);
  assert.ok(narrow.width <= 4 * COLUMN);
  assert.equal(layoutOf(8, chain).width, 8 * COLUMN);
});

test("boxes of groups have names without tokens, which differ", () => {
  const token = "c3ef58f1c948ce97b7fa92e0856421aa";
  const other = "f742bbd33870e35214ef5e16cec8d62d";
  assert.deepEqual(labelsOf([`sum-${token}`, "load", `add-${token}`, `add-${other}`, "x-12ab"]), [
    "sum",
    "load",
    "add …21aa",
    "add …d62d",
    "x-12ab",
  ]);
});

test("a graph that is too large to be read begins at the left and at the top", () => {
  const viewport = new Viewport();
  viewport.resize(370, 300);
  viewport.fit({ width: 4000, height: 3000 }, 0.4);
  assert.equal(viewport.scale, 0.4);
  assert.ok(viewport.left > 0 && viewport.left < 20 && viewport.top > 0 && viewport.top < 20);
});

test("an empty graph has a layout", () => {
  assert.deepEqual(layoutOf(0, []), { x: new Float32Array(0), y: new Float32Array(0), width: 0, height: 0 });
});

/** @param {object} part @returns {any} */
const group = (part) => ({
  group: 1,
  prefix: 1,
  name: "inc",
  tasks: 4,
  computed: 4,
  computed_before: 0,
  seconds: 8,
  longest: 3,
  erred: 0,
  nbytes: 0,
  before: [4, 0, 0, 0, 0, 0, 0, 0],
  waiting: 5,
  queued: 2,
  processing: 9,
  ...part,
});
const GRAPH = /** @type {any} */ ({
  start: 100,
  stop: 140,
  groups: [group({}), group({ name: "sum", prefix: 2, seconds: 4, computed_before: 7 })],
  edges: { task: [1, 1], needed: [0, 1], edges: [4, 2] },
  changes: {
    start: 95,
    width: 10,
    bins: 5,
    group: [0, 0, 0, 0],
    bin: [0, 0, 2, 2],
    state: [RELEASED, WAITING, WAITING, MEMORY],
    change: [-4, 4, -3, 3],
  },
  work: {
    start: 95,
    width: 10,
    bins: 5,
    group: [0, 1, 0],
    bin: [1, 2, 4],
    tasks: [1, 2, 3],
    seconds: [4, 5, 3],
  },
  has_states: true,
});

test("the tasks of a group in each state are those at the end of the last bin that is over", () => {
  const at = (/** @type {number} */ time) => statesAt(GRAPH, time);
  assert.deepEqual([at(101).counts[0][RELEASED], at(101).time], [4, 100], "the first bin has not ended");
  assert.deepEqual([at(106).counts[0][RELEASED], at(106).counts[0][WAITING], at(106).time], [0, 4, 105]);
  assert.deepEqual([at(125).counts[0][WAITING], at(125).counts[0][MEMORY], at(125).time], [1, 3, 125]);
  assert.equal(at(150).time, 140, "of a later time: that of the window's end");
  assert.deepEqual(statesAt({ ...GRAPH, has_states: false }, 125).counts, []);
});

test("what was computed by an instant has what was computed before the window", () => {
  assert.deepEqual(computedBy(GRAPH, 116), [1, 7]);
  assert.deepEqual(computedBy(GRAPH, 140), [4, 9]);
});

test("a group's node is told of with its states, its progress and where its time went", () => {
  const nodes = nodesOfGroups(GRAPH);
  const instant = nodes.at(125);
  assert.deepEqual(instant.shares(0), [
    { color: "#808080", share: 0.25 },
    { color: "#ff0000", share: 0.75 },
  ]);
  assert.deepEqual(instant.lines(0).slice(0, 3), [
    ["waiting", "1", "#808080"],
    ["memory", "3", "#ff0000"],
    ["computed by then", "1 of 4 tasks"],
  ]);
  assert.equal(nodes.seconds(0, "idle"), 1, "on a worker, not computing");
  assert.deepEqual(neighbours(nodes.task, nodes.needed, 1), [0], "itself isn't its neighbour");
});

test("a task's state is that of its last change by then", () => {
  const changes = { task: [0, 1, 0], time: [1, 2, 3], state: [PROCESSING, WAITING, MEMORY] };
  const graph = /** @type {any} */ ({ before: [WAITING, RELEASED], changes, start: 100, stop: 110 });
  assert.deepEqual([...stateOfTasks(graph, 100.5)], [WAITING, RELEASED]);
  assert.deepEqual([...stateOfTasks(graph, 102)], [PROCESSING, WAITING]);
  assert.deepEqual([...stateOfTasks(graph, 109)], [MEMORY, WAITING]);
});

test("the arrow keys go along edges, and to the nodes above and below", () => {
  const edges = /** @type {[number, number][]} */ ([[0, 2], [1, 2], [2, 3]]); // prettier-ignore
  const layout = layoutOf(4, edges);
  const nodes = /** @type {any} */ ({
    count: 4,
    needed: edges.map(([needed]) => needed),
    task: edges.map(([, task]) => task),
  });
  const go = (/** @type {number} */ from, /** @type {string} */ key) => nodeBeside(layout, nodes, from, key);
  const [upper, lower] = layout.y[0] < layout.y[1] ? [0, 1] : [1, 0];
  assert.deepEqual(
    [go(0, "ArrowRight"), go(2, "ArrowRight"), go(3, "ArrowLeft"), go(3, "ArrowRight")],
    [2, 3, 2, 3],
  );
  assert.deepEqual([go(upper, "ArrowDown"), go(lower, "ArrowUp")], [lower, upper]);
  assert.equal(nodeAt(layout, { width: 80, height: 16 }, [layout.x[3] + 39, layout.y[3]]), 3);
  assert.equal(nodeAt(layout, { width: 80, height: 16 }, [layout.x[3] + 41, layout.y[3]]), null);
});

test("zooming keeps the place under the mouse, and a node out of sight is brought to the middle", () => {
  const viewport = new Viewport();
  viewport.resize(400, 200);
  viewport.fit({ width: 4000, height: 100 });
  assert.ok(viewport.isWhole && viewport.scale < 0.1);
  const before = viewport.place(300, 50);
  viewport.zoom(4, 300, 50);
  viewport.place(300, 50).forEach((at, axis) => assert.ok(Math.abs(at - before[axis]) < 1e-6));
  viewport.show(3900, 50, 1);
  assert.deepEqual([viewport.place(200, 100), viewport.scale, viewport.isWhole], [[3900, 50], 1, false]);
});

test("layers over time are the groups that took longest, the selected prefix first, the others as one", () => {
  const done = layersOf(GRAPH, "done", null);
  assert.deepEqual(
    done.groups.map(({ name, values }) => [name, values]),
    [
      ["inc", [0, 1, 1, 1, 4]],
      ["sum", [0, 0, 2, 2, 2]],
    ],
  );
  assert.equal(done.highest, 6);
  assert.deepEqual(layersOf(GRAPH, "done", 2).groups[0].name, "sum");
  const busy = layersOf(GRAPH, "busy", null).groups[0].values;
  assert.deepEqual(busy, [0, 0.4, 0, 0, 0.6], "the last bin is half in the window");
  const many = {
    ...GRAPH,
    groups: Array.from({ length: 30 }, (_, at) => group({ name: `g${at}`, seconds: 30 - at })),
    work: { ...GRAPH.work, group: [0, 20, 29] },
  };
  const layers = layersOf(many, "done", null).groups;
  assert.deepEqual([layers.length, layers[9].name, layers[9].values[4]], [10, "21 others", 5]);
});
