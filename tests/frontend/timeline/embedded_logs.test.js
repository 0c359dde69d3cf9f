// A file finds and counts its log lines as the server does.

import assert from "node:assert/strict";
import { test } from "node:test";
import { countLogs, findLogs } from "../../../frontend/timeline/sources/embedded_logs.js";

/** @param {Partial<import("../../../frontend/timeline/sources/embedded_logs.js").LogLine>} part */
const line = (part) => ({
  id: `${part.time}_0`,
  time: 0,
  level: 20,
  role: "scheduler",
  worker: null,
  name: "",
  pid: 1,
  logger: "distributed.core",
  message: "",
  traceback: "",
  ...part,
});

const LINES = [
  line({ time: 1, message: "starts" }),
  line({
    time: 10,
    level: 30,
    role: "worker",
    worker: 7,
    logger: "distributed.worker.memory",
    message: "Memory at 95%",
  }),
  line({
    time: 11,
    level: 30,
    role: "nanny",
    worker: 7,
    logger: "distributed.nanny",
    message: "Worker exceeded 95%",
  }),
  line({
    time: 12,
    level: 40,
    role: "worker",
    worker: 8,
    message: "Compute failed",
    traceback: "Traceback\nKeyError",
  }),
  line({ time: 30, message: "stops" }),
];

/** @type {[Record<string, string>, number[]][]} */
const CASES = [
  [{}, [1, 10, 11, 12, 30]],
  [{ level: "30" }, [10, 11, 12]],
  [{ role: "nanny" }, [11]],
  [{ workers: "7" }, [10, 11]],
  [{ logger: "distributed.worker" }, [10]],
  [{ match: "KEYERROR" }, [12]],
  [{ match: "95%$", regex: "true" }, [10, 11]],
  [{ after: "2", before: "12" }, [10, 11]],
];

for (const [query, times] of CASES) {
  test(`lines are found by ${JSON.stringify(query)}`, () => {
    const parameters = new URLSearchParams({ after: "0", before: "100", ...query });
    assert.deepEqual(
      findLogs(LINES, parameters).lines.map(({ time }) => time),
      times,
    );
    const counted = countLogs(LINES, parameters).levels.flatMap(({ counts }) => counts);
    assert.equal(
      counted.reduce((sum, count) => sum + count, 0),
      times.length,
    );
  });
}

test("lines around a time lead to all others", () => {
  const middle = findLogs(LINES, new URLSearchParams({ at: "11", limit: "2" }));
  assert.deepEqual(
    middle.lines.map(({ time }) => time),
    [10, 11],
  );
  const older = findLogs(LINES, new URLSearchParams({ older: String(middle.older), limit: "2" }));
  const newer = findLogs(LINES, new URLSearchParams({ newer: String(middle.newer), limit: "2" }));
  assert.deepEqual(
    [older, newer].map(({ lines }) => lines.map(({ time }) => time)),
    [[1], [12, 30]],
  );
  assert.deepEqual([older.older, newer.newer], [null, null]);
});
