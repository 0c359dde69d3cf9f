// Charts as tables, and tables as CSV.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { cellText, csvOf, isoTime } from "../../../frontend/charts/chart_menu/table.js";
import { seriesTable } from "../../../frontend/charts/series/series_table.js";
import { units } from "../../../frontend/charts/series/value_axis.js";
import { streamTable } from "../../../frontend/charts/task_stream/stream_table.js";
import { Model } from "../../../frontend/timeline/model.js";
import { makeTile } from "../../../frontend/timeline/tiles/tile_store.js";
import { tileIndex } from "../../../frontend/timeline/tiles/levels.js";
import { FIRST, busy, decoded, spans } from "../make.js";

const HOSTILE = "<img src=x onerror=alert(1)>";

test("a cell of CSV is quoted where it must be, and no text is a formula", () => {
  const rows = [["a,b", 'say "no"', "two\nlines", "=1+1", "-cmd", "@x", "＝1", HOSTILE, -1.5, null]];
  const columns = rows[0].map((_, place) => `c${place}`);
  assert.equal(
    csvOf({ columns, rows }),
    `c0,c1,c2,c3,c4,c5,c6,c7,c8,c9\r\n"a,b","say ""no""","two\nlines",'=1+1,'-cmd,'@x,'＝1,${HOSTILE},-1.5,\r\n`,
  );
});

test("times are in UTC, to the millisecond", () => {
  assert.equal(isoTime(1_700_000_000.1239), "2023-11-14T22:13:20.124Z");
});

test("numbers are written to be read, and what is unknown is a dash", () => {
  assert.deepEqual([5610, 0.123456789, null, "x"].map(cellText), ["5,610", "0.123457", "–", "x"]);
});

test("the lines of a chart are rows in order of time, of the window alone, with the unit in the headings", () => {
  const points = (/** @type {number[]} */ time) =>
    /** @type {any} */ ({ time, mean: time, min: time.map(() => 0), max: time.map(() => 9) });
  const lines = [
    { label: "w0", points: points([1, 3, 5]) },
    { label: "w1", points: points([2, 4]) },
  ];
  const { columns, rows } = seriesTable(lines, { start: 2, stop: 5 }, units.bytes);
  assert.deepEqual(columns, ["time (UTC)", "series", "mean (bytes)", "least (bytes)", "most (bytes)"]);
  assert.deepEqual(rows, [
    [isoTime(2), "w1", 2, 0, 9],
    [isoTime(3), "w0", 3, 0, 9],
    [isoTime(4), "w1", 4, 0, 9],
  ]);
});

const LEVEL = 31;

function model() {
  const made = new Model();
  const prefixes = [{ id: 1, name: "inc", color: "#0000ff", seconds: 0, is_other: false }];
  made.load({ workers: [], lanes: [], series: {}, prefixes });
  return made;
}

/** @param {Uint8Array} data */
function tileOf(data) {
  return makeTile("spans", LEVEL, tileIndex(FIRST, LEVEL), true, decoded(data));
}

test("each task of the window is one row of the task stream's table, also where it crosses tiles", () => {
  const [width, level] = [(512 * 2 ** 20) / 1e6, 20]; // about 537 s
  const first = Math.floor(FIRST / width) * width;
  const crossing = first + width - 1;
  const data = spans([
    [1, 1, 0, 0, first + 10, first + 12],
    [1, 1, 0, 1, crossing, crossing + 3],
  ]);
  const tiles = [first, first + width].map((start) =>
    makeTile("spans", level, tileIndex(start + 1, level), true, decoded(data)),
  );
  const window = { start: first, stop: first + 2 * width };
  const { rows, note } = streamTable(tiles, model(), [1], window);
  assert.deepEqual(rows, [
    [isoTime(first + 10), "", 0, "inc", "inc-0", "compute", 2, 1, 28, "int", "ok"],
    [isoTime(crossing), "", 0, "inc", "inc-1", "compute", 3, 1, 28, "int", "error"],
  ]);
  assert.equal(note, "");
  const later = streamTable(tiles, model(), [1], { start: crossing + 1, stop: crossing + 2 });
  assert.equal(later.rows.length, 1, "a task that began before the window is in it");
  assert.deepEqual(streamTable(tiles, model(), [2], window).rows, [], "lanes out of sight are not");
});

test("where the task stream is zoomed out, a row sums up the tasks of a bin and says so", () => {
  const index = tileIndex(FIRST, LEVEL);
  const { rows, note = "" } = streamTable(
    [tileOf(busy(LEVEL, index, [[1, 0, 1, 0, 1.5, 7]]))],
    model(),
    [1],
    { start: 0, stop: 1e12 },
  );
  assert.deepEqual(
    rows.map((row) => row.slice(1)),
    [["", 0, "inc", "", "compute", 1.5, 7, null, "", ""]],
  );
  assert.match(note, /zoom in/);
});
