// Colours that stand out on a theme's backgrounds, each as near as possible to a wanted one and apart from those taken.

import { contrast, distance, toLab, toRgb } from "./oklab.js";

/** @typedef {import("./oklab.js").Rgb} Rgb */
/** @typedef {import("./oklab.js").Lab} Lab */
/** @typedef {{rgb: Rgb, lab: Lab}} Color */

/** Contrast of a colour with each background, at least: that of WCAG 2 for graphics. */
export const LEAST_CONTRAST = 3;
/** Distance of two colours in OKLab, at least, as long as there is room. Neighbours in Dask's palette are 0.05 apart. */
export const APART = 0.12;
/** Where there is no room, and for prefixes that are not among the busiest. */
export const CLOSER = 0.06;
const HUES = 36;
const CHROMAS = [0.08, 0.12, 0.16, 0.2, 0.24]; // not gray
const [DARKEST, LIGHTEST, LIGHTNESS_STEP] = [0.32, 0.93, 0.04]; // neither black nor white

/** @type {{backgrounds: string, colors: Color[]}} the last answer of `colorsOn` */
let last = { backgrounds: "", colors: [] };

/**
 * All colours to choose from. Remembers the last: a page that opens asks before it knows its prefixes.
 * @param {Rgb[]} backgrounds
 * @returns {readonly Color[]}
 */
export function colorsOn(backgrounds) {
  const key = JSON.stringify(backgrounds);
  if (key !== last.backgrounds) last = { backgrounds: key, colors: allOn(backgrounds) };
  return last.colors;
}

/** @param {Rgb[]} backgrounds @returns {Color[]} */
function allOn(backgrounds) {
  const found = [];
  for (let lightness = DARKEST; lightness < LIGHTEST; lightness += LIGHTNESS_STEP) {
    for (const chroma of CHROMAS) {
      for (let hue = 0; hue < HUES; hue++) {
        const angle = (hue / HUES) * 2 * Math.PI;
        const rgb = toRgb([lightness, chroma * Math.cos(angle), chroma * Math.sin(angle)]);
        if (rgb && standsOut(rgb, backgrounds)) found.push({ rgb, lab: toLab(rgb) });
      }
    }
  }
  return found;
}

/**
 * @param {Rgb} rgb
 * @param {Rgb[]} backgrounds
 */
function standsOut(rgb, backgrounds) {
  return backgrounds.every((background) => contrast(rgb, background) >= LEAST_CONTRAST);
}

/**
 * @param {Rgb} wanted
 * @param {readonly Color[]} colors to choose from
 * @param {Rgb[]} backgrounds
 * @param {Lab[]} taken
 * @param {number} apart the distance from those taken, if there is room
 * @returns {Color} the wanted one if it stands out and is apart from those taken, else the nearest that does and is
 */
export function nearestFree(wanted, colors, backgrounds, taken, apart) {
  const own = { rgb: wanted, lab: toLab(wanted) };
  const all = standsOut(wanted, backgrounds) ? [own, ...colors] : colors;
  for (const least of [apart, CLOSER, 0]) {
    const found = nearest(all, own.lab, taken, least);
    if (found) return found;
  }
  return own; // no colour stands out on these backgrounds
}

/**
 * @param {readonly Color[]} colors
 * @param {Lab} lab
 * @param {Lab[]} taken
 * @param {number} least the distance from those taken
 * @returns {Color|null} null: none is that far from them
 */
function nearest(colors, lab, taken, least) {
  let best = null;
  let shortest = Infinity;
  for (const color of colors) {
    const away = distance(color.lab, lab);
    if (away >= shortest || !taken.every((other) => distance(color.lab, other) >= least)) continue;
    [best, shortest] = [color, away];
  }
  return best;
}
