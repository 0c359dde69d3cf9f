// Colours of prefixes: apart from each other, visible on both themes, near Dask's, and the same wherever a run is shown.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { contrast, distance, toLab } from "../../../../frontend/timeline/colors/oklab.js";
import {
  MOST_SPACED,
  OF_OTHER_RUNS,
  PrefixColors,
} from "../../../../frontend/timeline/colors/prefix_colors.js";
import { APART, LEAST_CONTRAST } from "../../../../frontend/timeline/colors/spacing.js";

/** @typedef {import("../../../../frontend/timeline/colors/oklab.js").Rgb} Rgb */

// distributed.utils.palette
const DASK = [
  "#440154", "#471669", "#472a79", "#433c84", "#3c4d8a", "#355d8c", "#2e6c8e", "#287a8e", "#23898d", "#1e978a",
  "#20a585", "#2eb27c", "#45bf6f", "#64cb5d", "#88d547", "#afdc2e", "#d7e219", "#fde724",
]; // prettier-ignore

/** @param {string} color @returns {Rgb} */
const parse = (color) =>
  /** @type {Rgb} */ ([1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16)));

const styles = readFileSync("frontend/styles/site/colors.css", "utf-8").split('[data-theme="dark"]');
/** @param {string} style @param {string} name */
const property = (style, name) => parse(style.match(new RegExp(`--${name}: (#[0-9a-f]{6})`))?.[1] ?? "");
/** The page's background and what lies behind data (theme.js). @type {Record<string, Rgb[]>} */
const THEMES = {
  light: [property(styles[0], "background"), property(styles[0], "surface")],
  dark: [
    property(styles[1], "background"),
    mix(property(styles[1], "surface"), property(styles[1], "text"), 0.09),
  ],
};

/** @param {Rgb} one @param {Rgb} other @param {number} share @returns {Rgb} */
function mix(one, other, share) {
  return /** @type {Rgb} */ (
    one.map((channel, place) => Math.round(channel + (other[place] - channel) * share))
  );
}

/** A number from 0 to 1 that only depends on the seed. @param {number} seed */
function noise(seed) {
  const value = Math.sin(seed * 12.9898 + 78.233) * 43758.5453;
  return value - Math.floor(value);
}

/** @param {string[]} colors Dask's */
const prefixesOf = (colors) =>
  colors.map((color, id) => ({ id, name: `prefix ${id}`, color, seconds: 100 - id }));

const SETS = [
  DASK.slice(0, 12),
  DASK.slice(6),
  ["#472a79", "#471669"],
  ...DASK.map((color) => Array(MOST_SPACED).fill(color)),
  ...Array.from({ length: 60 }, (_, set) =>
    Array.from(
      { length: MOST_SPACED },
      (_, place) => DASK[Math.floor(noise(set * 100 + place) * DASK.length)],
    ),
  ),
];

/** @param {Rgb[]} backgrounds @param {ReturnType<typeof prefixesOf>} prefixes */
function shown(backgrounds, prefixes) {
  const colors = new PrefixColors();
  colors.setBackgrounds(backgrounds);
  colors.add(prefixes);
  return prefixes.map(({ name }) => colors.of(name) ?? "");
}

for (const [theme, backgrounds] of Object.entries(THEMES)) {
  test(`any two of the busiest prefixes look different on the ${theme} theme, and stand out`, () => {
    for (const set of SETS) {
      const found = shown(backgrounds, prefixesOf(set)).map(parse);
      for (const [place, color] of found.entries()) {
        for (const background of backgrounds)
          assert.ok(contrast(color, background) >= LEAST_CONTRAST, `${set}: ${color}`);
        for (const other of [...found.slice(0, place), /** @type {Rgb} */ ([0, 0, 0])]) {
          assert.ok(distance(toLab(color), toLab(other)) >= APART, `${set}: ${color} and ${other}`);
        }
      }
    }
  });

  test(`more prefixes than can be kept apart have colours that stand out on the ${theme} theme`, () => {
    const many = Array.from({ length: 200 }, (_, place) => DASK[place % DASK.length]);
    for (const color of shown(backgrounds, prefixesOf(many)).map(parse)) {
      for (const background of backgrounds)
        assert.ok(contrast(color, background) >= LEAST_CONTRAST, `${color}`);
    }
  });

  test(`a prefix has Dask's own colour where that is visible on the ${theme} theme and not taken`, () => {
    const visible = DASK.filter((color) =>
      backgrounds.every((each) => contrast(parse(color), each) >= LEAST_CONTRAST),
    );
    const free = visible.filter((color) => distance(toLab(parse(color)), [0, 0, 0]) >= APART);
    assert.ok(free.length > 6);
    for (const color of free) assert.deepEqual(shown(backgrounds, prefixesOf([color])), [color]);
  });
}

test("#472a79 and #471669 side by side are told apart", () => {
  const [extract, transform] = shown(THEMES.light, prefixesOf(["#472a79", "#471669"])).map((color) =>
    toLab(parse(color)),
  );
  assert.ok(distance(extract, transform) >= APART);
  assert.ok(distance(toLab(parse("#472a79")), toLab(parse("#471669"))) < 0.06, "which they are not in Dask");
});

test("a page that saw the prefixes come, one that loads them later, and one of the other theme in between agree", () => {
  const prefixes = prefixesOf(SETS[40]);
  const live = new PrefixColors();
  live.setBackgrounds(THEMES.light);
  for (const { id, name, color } of prefixes) live.add([{ id, name, color }]);
  live.setBackgrounds(THEMES.dark);
  live.setBackgrounds(THEMES.light);
  const loaded = shown(THEMES.light, [...prefixes].reverse());
  assert.deepEqual(
    prefixes.map(({ name }) => live.of(name)),
    loaded.reverse(),
  );
});

test("of many prefixes the busiest are well apart, whenever they appeared", () => {
  const many = Array.from({ length: 150 }, (_, place) => DASK[place % 3]);
  const prefixes = prefixesOf(many).map((prefix) => ({ ...prefix, seconds: prefix.id }));
  const busiest = shown(THEMES.dark, prefixes)
    .slice(-MOST_SPACED)
    .map((color) => toLab(parse(color)));
  for (const [place, color] of busiest.entries()) {
    for (const other of busiest.slice(0, place)) assert.ok(distance(color, other) >= APART);
  }
});

test("Dask's exact colours can be shown, and are as long as the backgrounds are unknown", () => {
  const colors = new PrefixColors();
  colors.add(prefixesOf(["#440154"]));
  assert.equal(colors.of("prefix 0"), "#440154");
  colors.setBackgrounds(THEMES.dark);
  assert.notEqual(colors.of("prefix 0"), "#440154");
  colors.isExact = true;
  assert.equal(colors.of("prefix 0"), "#440154");
  assert.equal(colors.of("another"), undefined);
});

test("OKLab has white at a lightness of one and gray without a hue", () => {
  const [lightness, a, b] = toLab([255, 255, 255]);
  assert.ok(Math.abs(lightness - 1) < 1e-4 && Math.hypot(a, b) < 1e-4);
  assert.ok(Math.abs(contrast([0, 0, 0], [255, 255, 255]) - 21) < 1e-9);
});

test("prefixes of other runs are gray and leave the colours to the run's own, unless Dask's are wanted", () => {
  const own = DASK.slice(0, 3).map((color, id) => ({ id, name: `own-${id}`, color, seconds: 1 }));
  const others = DASK.map((color, id) => ({
    id: id + 9,
    name: `other-${id}`,
    color,
    seconds: 9,
    is_other: true,
  }));
  const [alone, together] = [new PrefixColors(), new PrefixColors()];
  for (const colors of [alone, together]) colors.setBackgrounds(THEMES.light);
  alone.add(own);
  together.add([...others, ...own]);
  for (const { name } of own) assert.equal(together.of(name), alone.of(name));
  for (const { name } of others) assert.equal(together.of(name), OF_OTHER_RUNS);
  assert.ok(contrast(parse(OF_OTHER_RUNS), THEMES.light[0]) >= LEAST_CONTRAST);
  together.isExact = true;
  assert.equal(together.of("other-4"), DASK[4]);
});
