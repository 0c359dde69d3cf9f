// Commands are declared with their keys: the help shows those, and no two commands have the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import "../browser.js";
import { charts } from "../../../frontend/tabs.js";
import { COMMANDS, keysText } from "../../../frontend/timeline/controls/commands.js";

const ALL = [
  ...COMMANDS,
  ...new Set(
    Object.values(charts)
      .flat()
      .flatMap(({ commands }) => commands ?? []),
  ),
];

test("the help shows keys by the names that they have on keyboards, then what the mouse does", () => {
  assert.deepEqual(ALL.map(keysText), [
    "W / S, ↑ / ↓, Ctrl or ⌘ + wheel, pinch",
    "A / D, ← / →, drag, Shift + wheel",
    "wheel",
    "Space",
    ", / .",
    "P / N",
    "L",
    "F",
    "Home / End",
    "click",
    "double click",
    "Esc",
    "Alt + wheel",
    "[ / ]",
  ]);
});

test("a key gives one command, and each key of a command does something", () => {
  const keys = ALL.flatMap(({ keys = [] }) => keys.flat());
  assert.deepEqual(
    keys.filter((key, place) => keys.indexOf(key) !== place),
    [],
  );
  for (const { does, keys = [], runs = [], holds = [] } of ALL)
    for (const way of keys) assert.equal(way.length, runs.length + holds.length, does);
});
