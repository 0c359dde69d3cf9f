// The pictures of the documents show the charts that the page has: else `make screenshot pictures film` takes them again.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import "../browser.js";
import { charts } from "../../../frontend/tabs.js";
import { marks } from "../../../frontend/tabs/marks.js";

/** @type {Record<string, string[]>} names of the charts by picture */
const noted = JSON.parse(
  readFileSync(new URL("../../../docs/pictures/charts.json", import.meta.url), "utf8"),
);
const PICTURE_OF_TAB = /^docs\/pictures\/([^/]+)\.webp$/; // those of first screens are in a folder

test("first screens are noted: of 4 threads, 64 threads and 1,000 workers, light, dark and on a phone", () => {
  const names = ["4-threads", "64-threads", "1000-workers"].flatMap((name) =>
    ["light", "dark", "phone"].map((screen) => `docs/pictures/first/${name}-${screen}.webp`),
  );
  assert.deepEqual(
    Object.keys(noted).filter((picture) => picture.includes("/first/")),
    names.sort(),
  );
});

test("screenshot, film and pictures of tabs are noted", () => {
  assert.ok(noted["docs/screenshot.png"] && noted["docs/replay.webp"]);
  assert.ok(Object.keys(noted).filter((picture) => PICTURE_OF_TAB.test(picture)).length > 5);
});

for (const [picture, shown] of Object.entries(noted))
  test(`${picture} shows the charts that its tab has`, () => {
    const tab = PICTURE_OF_TAB.exec(picture)?.[1] ?? "status";
    const own = charts[/** @type {import("../../../frontend/contract.js").TabName} */ (tab)];
    // a chart that some clusters lack alone is not missed
    const wanted = [...marks, ...own].filter(({ name, isThere }) => !isThere || shown.includes(name));
    assert.deepEqual(shown, wanted.map(({ name }) => name).sort());
  });
