// The ends of a worker's lifetimes in its row.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import {
  describeLifetime,
  describeWorker,
  endNear,
} from "../../../frontend/charts/task_stream/lanes/lifetimes.js";

/** @returns {any} */
function lifetime(id, started, ended = /** @type {number|null} */ (null), end_reason = "") {
  return {
    id,
    name: "0",
    address: `tcp://10.0.0.1:${id}`,
    host: "10.0.0.1",
    nthreads: 2,
    started,
    ended,
    end_reason,
    status: "running",
  };
}

const LIFETIMES = [lifetime(1, 0, 100, "lost"), lifetime(2, 110, 200, "removed"), lifetime(3, 210)];

test("the mark of the nearest end is found, and the end of the cluster has none", () => {
  assert.equal(endNear(LIFETIMES, 103, 5)?.id, 1);
  assert.equal(endNear(LIFETIMES, 198, 150)?.id, 2);
  assert.equal(endNear(LIFETIMES, 106, 5), null);
  assert.equal(endNear([lifetime(4, 0, 100, "cluster-ended")], 100, 5), null);
});

test("which lifetime a task ran in is said where its worker has several", () => {
  const [[name, text]] = describeLifetime(LIFETIMES[1], LIFETIMES);
  assert.equal(name, "lifetime");
  assert.match(text, /^2 of 3: .+ – .+, removed$/);
  assert.deepEqual(describeLifetime(LIFETIMES[2], [LIFETIMES[2]]), []);
});

test("a worker whose name is a number is described with its address and its newest lifetimes", () => {
  const { title, lines } = describeWorker(LIFETIMES);
  assert.equal(title, "0");
  assert.deepEqual(
    lines.map(([name]) => name),
    ["address", "host", "threads", "status", "lifetime 3", "lifetime 2", "lifetime 1"],
  );
  assert.deepEqual([lines[0][1], lines[3][1]], ["tcp://10.0.0.1:3", "running"]);
  const many = [...Array(9).keys()].map((number) => lifetime(number, 10 * number, 10 * number + 5, "lost"));
  assert.equal(describeWorker(many).lines.at(-1)?.[0], "and 3 earlier");
});
