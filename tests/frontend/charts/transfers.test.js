// Transfers: pairs by slot, shades on a logarithmic scale, the cell under the mouse, shuffles at the playhead, what isn't known.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { MatrixLayout, logShade } from "../../../frontend/charts/transfers/matrix_layout.js";
import { bandwidthOf, missingText, STOCK } from "../../../frontend/charts/transfers/names.js";
import { movedBy } from "../../../frontend/charts/transfers/shuffles.js";
import { bySlot } from "../../../frontend/charts/transfers/slot_pairs.js";
import { Model } from "../../../frontend/timeline/model.js";

/** @typedef {import("../../../frontend/types.js").Schemas["TransferPlace"]} Place */
/** @typedef {import("../../../frontend/types.js").Schemas["TransferCell"]} Cell */

/** @param {number} worker @returns {Place} */
const place = (worker) => ({ kind: "worker", worker, host: null });
/** @param {number} sender @param {number} receiver @param {number} nbytes @returns {Cell} */
const cell = (sender, receiver, nbytes) => ({ sender, receiver, count: 1, nbytes, seconds: 2, unsized: 0 });

test("lifetimes of one worker are one row, named workers come first and what is unknown last", () => {
  const model = new Model(64);
  const lifetime = (/** @type {number} */ id, /** @type {string} */ slot, /** @type {number} */ started) =>
    /** @type {any} */ ({
      id,
      slot,
      name: slot,
      address: `tcp://h:${id}`,
      started,
      ended: null,
      position: id,
    });
  model.load(
    /** @type {any} */ ({
      workers: [lifetime(1, "w10", 0), lifetime(2, "w2", 0), lifetime(3, "w10", 9)],
      lanes: [],
      series: {},
      prefixes: [],
    }),
  );
  const unknown = /** @type {Place} */ ({ kind: "unknown", worker: null, host: null });
  const pairs = {
    places: [unknown, place(1), place(2), place(3)],
    cells: [cell(1, 2, 5), cell(3, 2, 7), cell(0, 1, 1)],
  };
  const { places, cells } = bySlot(pairs, model, ({ worker }) =>
    worker === null ? "" : (model.workers.get(worker)?.name ?? ""),
  );
  assert.deepEqual(places, [place(2), place(3), unknown]);
  assert.deepEqual(cells, [{ ...cell(1, 0, 12), count: 2, seconds: 4 }, cell(2, 1, 1)]);
});

test("a colour is of the logarithm of a value", () => {
  assert.deepEqual(
    [1, 10, 100, 10_000].map((value) => logShade(value, 1, 10_000, 257)),
    [0, 64, 128, 256],
  );
  assert.equal(logShade(5, 5, 5, 256), 255, "the only value is the greatest");
  assert.equal(logShade(0, 1, 10, 256), 0);
});

test("a cell is found where it is drawn, and cells of many workers are small but never smaller than can be hit", () => {
  const layout = new MatrixLayout(4, 1000, 60);
  const [x, y] = layout.corner(2, 3);
  assert.deepEqual(layout.cellAt(x + 1, y + 1), { row: 2, column: 3 });
  assert.equal(layout.cellAt(layout.left - 1, y), null);
  assert.equal(layout.cellAt(x, layout.top + 4 * layout.size), null);
  const many = new MatrixLayout(52, 370, 120);
  assert.ok(many.size >= 5);
  assert.ok(!many.isNamed);
});

test("a shuffle has moved by the playhead what its last sample before says", () => {
  const amount = (
    /** @type {string} */ medium,
    /** @type {string} */ what,
    /** @type {[number, number][]} */ progress,
  ) => ({ medium, what, nbytes: progress[progress.length - 1][1], progress });
  const shuffle = {
    shuffle: "s",
    name: "",
    code: "",
    first: 10,
    last: 30,
    amounts: [
      amount("comm", "read", [
        [10, 0],
        [20, 40],
        [30, 80],
      ]),
      amount("disk", "written", [[20, 4]]),
    ],
  };
  assert.equal(movedBy(shuffle, 5).share, 0);
  const { received, written, sent, share, moved } = movedBy(shuffle, 29);
  assert.deepEqual([received, written, sent, share, moved], [40, 4, null, 0.5, 80]);
  assert.equal(movedBy(shuffle, 99).share, 1);
});

test("of a shuffle that heartbeats missed, or told too early, it is what workers sent each other", () => {
  const one = (/** @type {string} */ what, /** @type {number} */ nbytes) => ({
    medium: "comm",
    what,
    nbytes,
    progress: /** @type {[number, number][]} */ ([[20, nbytes]]),
  });
  const of = (/** @type {any[]} */ ...amounts) =>
    movedBy({ shuffle: "a", name: "", code: "", first: 10, last: 20, amounts }, 25);
  assert.deepEqual([of(one("exchanged", 7)).sent, of(one("exchanged", 7)).moved], [7, 7]);
  assert.equal(of(one("read", 2), one("exchanged", 7)).received, 7);
  assert.equal(of(one("read", 9), one("exchanged", 7)).received, 9);
});

test("what only spans tell of has no bandwidth, and a cluster without an agent says what the agent adds", () => {
  assert.equal(bandwidthOf({ count: 1, nbytes: 10, seconds: 2, unsized: 0 }), 5);
  assert.equal(bandwidthOf({ count: 2, nbytes: 10, seconds: 2, unsized: 1 }), null);
  const context = (/** @type {object} */ total, has_agent = false) =>
    /** @type {any} */ ({
      features: { of: () => ({ answer: { total }, message: "" }) },
      info: { has_agent },
    });
  assert.match(
    missingText(context({ count: 3, nbytes: 0, seconds: 2, unsized: 3 })),
    new RegExp(`^3 transfers took 2.00 s in all. ${STOCK}$`),
  );
  assert.equal(missingText(context({ count: 0, nbytes: 0, seconds: 0, unsized: 0 })), STOCK);
  assert.match(missingText(context({ count: 0, nbytes: 0, seconds: 0, unsized: 0 }, true)), /^No data moved/);
  assert.equal(missingText(context({ count: 3, nbytes: 5, seconds: 2, unsized: 1 })), "");
});
