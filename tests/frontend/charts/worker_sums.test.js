// Rows of many workers are drawn from sums of each worker, which look like what its lanes did.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { FIRST_PREFIX_SLOT } from "../../../frontend/charts/task_stream/actions.js";
import { hitLanes } from "../../../frontend/charts/task_stream/lanes/hit.js";
import { visitBusy, visitSpans } from "../../../frontend/charts/task_stream/lanes/index.js";
import { LaneTiles } from "../../../frontend/charts/task_stream/lanes/lane_tiles.js";
import {
  OTHER_PREFIXES,
  SUMS,
  nameOfPrefix,
  tileOfLanes,
} from "../../../frontend/charts/task_stream/lanes/worker_sums.js";
import { Features } from "../../../frontend/timeline/features.js";
import { Model } from "../../../frontend/timeline/model.js";
import { Selection } from "../../../frontend/timeline/selection.js";
import { tileIndex } from "../../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { FIRST, block, decoded, join, spans } from "../make.js";
import { near } from "../near.js";

const LEVEL = 20;
const INDEX = tileIndex(FIRST, LEVEL);
const WORKERS = 200;

function model() {
  const made = new Model();
  const times = { started: FIRST, ended: null, end_reason: "", status: "running", tags: {} };
  const ids = [...Array(WORKERS).keys()].map((place) => place + 1);
  const workers = ids.map((id) => ({
    id,
    name: `w${id}`,
    address: "",
    host: "h",
    slot: `w${id}`,
    nthreads: 2,
    memory_limit: 0,
    position: id - 1,
    ...times,
  }));
  const lanes = ids.flatMap((id) =>
    [0, 1].map((position) => ({ id: 10 * id + position, worker: id, thread: position, position })),
  );
  made.load(
    /** @type {any} */ ({
      workers,
      lanes,
      series: {},
      prefixes: [{ id: 7, name: "inc", color: "#0000ff", seconds: 0 }],
    }),
  );
  return made;
}

/** @param {Uint8Array} [more] */
function sums(more = new Uint8Array(0)) {
  const row = { worker: 3, bin: 5, busy: 12, prefix: 7, seconds: 9, tasks: 4.4, longest: 3, errors: 0 };
  const full = { ...row, worker: 4, busy: 9.001 };
  const bytes = block("worker-busy", [row, full, { ...row, worker: 999 }], { level: LEVEL, index: INDEX });
  return makeTile(SUMS, LEVEL, INDEX, true, decoded(join(bytes, more)));
}

test("a worker's sum is on its first lane, in a bin of eight, with the other prefixes beside the one that took longest", () => {
  const made = model();
  const tile = tileOfLanes(sums(), made);
  /** @type {number[][]} */
  const found = [];
  for (const lane of [30, 31, 40, 41]) {
    visitBusy(tile, made, lane, tile.start, tile.stop, (its, row, slot, from, to, seconds) => {
      assert.equal(slot, FIRST_PREFIX_SLOT, "the others have the colour of the one that took longest");
      found.push([
        lane,
        its.numbers("prefix")[row],
        from - tile.start,
        to - from,
        seconds,
        its.numbers("count")[row],
      ]);
    });
  }
  const width = (8 * 2 ** LEVEL) / 1e6;
  near(found[0][2], 5 * width);
  near(found[0][3], width);
  assert.deepEqual(
    found.map(([lane, prefix, , , , count]) => [lane, prefix, count]),
    [
      [30, 7, 4],
      [30, OTHER_PREFIXES, 0],
      [40, 7, 4],
    ],
  );
  near(found[0][4], 9);
  near(found[1][4], 3);
  assert.equal(nameOfPrefix(OTHER_PREFIXES, made), "other prefixes");
});

test("the sums of a tile are made once, and live spans stay themselves", () => {
  const made = model();
  const tile = sums(spans([[31, 7, 0, 0, FIRST + 1, FIRST + 2]], "spans"));
  const [first, second] = [tileOfLanes(tile, made), tileOfLanes(tile, made)];
  assert.equal(first.blocks.get("busy")?.[0], second.blocks.get("busy")?.[0]);
  let seconds = 0;
  visitSpans(first, made, 31, FIRST, FIRST + 10, (_, __, ___, from, to) => (seconds += to - from));
  near(seconds, 1);
});

test("what is under the mouse on a row of workers is the sum of them", () => {
  const made = model();
  const tile = tileOfLanes(sums(), made);
  const width = (8 * 2 ** LEVEL) / 1e6;
  const hit = hitLanes(
    [tile],
    made,
    { lanes: [30, 31, 40, 41], threads: 4 },
    tile.start + 5.5 * width,
    width / 3,
  );
  near(hit?.seconds ?? 0, 21);
  assert.deepEqual(
    hit?.shares.map(({ prefix }) => prefix),
    [7, OTHER_PREFIXES],
  );
});

/** @param {{key?: string|null, rows?: number, threads?: number}} options */
function covered({ key = null, rows = WORKERS, threads = 2 } = {}) {
  const made = model();
  /** @type {string[]} */
  const asked = [];
  const tiles = {
    cover: (/** @type {string} */ _, /** @type {string} */ layer) => (asked.push(layer), []),
    release: () => undefined,
  };
  const selection = new Selection();
  selection.set({ key });
  const context = /** @type {any} */ ({
    model: made,
    tiles,
    selection,
    features: new Features(/** @type {any} */ ({})),
  });
  const shown = [...made.workers.keys()]
    .slice(0, rows)
    .map((id) => ({ lanes: [10 * id, 10 * id + 1].slice(0, threads), threads, slot: `w${id}` }));
  const laneTiles = new LaneTiles(context);
  laneTiles.cover(
    /** @type {any} */ ({ start: FIRST, stop: FIRST + 100, width: 1000, tiles: {} }),
    shown,
    false,
  );
  assert.equal(laneTiles.areSums, asked.includes(SUMS));
  return asked;
}

test("rows of many bands take sums, those of few bands, of threads, or with a chosen task take each task", () => {
  assert.deepEqual(covered(), [SUMS]);
  assert.deepEqual(covered({ rows: 128 }), ["spans", "spans.1"]);
  assert.deepEqual(covered({ threads: 1 }), ["spans", "spans.1", "spans.2", "spans.3"]);
  assert.deepEqual(covered({ key: "inc-1" }), ["spans", "spans.1", "spans.2", "spans.3"]);
});
