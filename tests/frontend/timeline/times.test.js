// Times as text, without Intl: its first use in a page takes longer than everything else that is written.

import assert from "node:assert/strict";
import { test } from "node:test";

import { withCommas } from "../../../frontend/formatting.js";
import { formatDate, zoneName } from "../../../frontend/timeline/times.js";

const SUMMER = Date.UTC(2026, 6, 1, 22, 30, 5) / 1000;

/** @param {import("node:test").TestContext} t @param {string} zone */
function setZone(t, zone) {
  const before = process.env.TZ;
  process.env.TZ = zone;
  t.after(() => (process.env.TZ = before ?? ""));
}

for (const [zone, name, date] of [
  ["UTC", "UTC", "2026-07-01 22:30:05"],
  ["Europe/Berlin", "UTC+", "2026-07-02 00:30:05"],
  ["Asia/Kolkata", "UTC+5:30", "2026-07-02 04:00:05"],
  ["America/Phoenix", "UTC−7", "2026-07-01 15:30:05"],
  ["Pacific/Marquesas", "UTC−9:30", "2026-07-01 13:00:05"],
]) {
  test(`dates are those of the zone, which is named by its distance: ${zone}`, (t) => {
    setZone(t, zone);
    assert.equal(formatDate(SUMMER), date);
    assert.ok(zoneName().startsWith(name), zoneName());
  });
}

test("numbers have commas between thousands, with and without decimals and a sign", () => {
  const numbers = ["0", "999", "1000", "-1000", "-100", "5610.25", "1234567", "0.0001"];
  const expected = ["0", "999", "1,000", "-1,000", "-100", "5,610.25", "1,234,567", "0.0001"];
  assert.deepEqual(numbers.map(withCommas), expected);
});
