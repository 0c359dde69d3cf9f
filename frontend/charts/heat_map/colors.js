// The colours of the heat map: from near the background to the strongest contrast with it.

import { rgb } from "../drawing/theme.js";

/** @typedef {import("../../timeline/colors/oklab.js").Rgb} Rgb */

// even steps of lightness; people who can't tell hues apart see them as well
const LIGHT = ["#d5e3ef", "#93bcdb", "#4a8cc0", "#2a5795", "#33105c"];
const DARK = ["#3d4c61", "#33759c", "#33a39b", "#93cf7c", "#fbf07a"];
const SHADES = 256;

/** @param {boolean} isDark @returns {string[]} from the least to the greatest value */
export function stops(isDark) {
  return isDark ? DARK : LIGHT;
}

export function isDarkTheme() {
  return document.documentElement.dataset.theme === "dark";
}

/** @param {string[]} colors @returns {Rgb[]} SHADES of them */
export function shades(colors) {
  const ends = colors.map(rgb);
  return Array.from({ length: SHADES }, (_, shade) => {
    const place = (shade / (SHADES - 1)) * (ends.length - 1);
    const [low, high] = [Math.floor(place), Math.ceil(place)];
    return /** @type {Rgb} */ (
      ends[low].map((channel, at) => Math.round(channel + (ends[high][at] - channel) * (place - low)))
    );
  });
}

/**
 * An image of cells: a pixel for each column, and `lines` lines. Where there are more rows than lines, a line has the
 * greatest value of its rows, so that none that stands out is lost.
 * @param {{columns: number, values: Float64Array}} cells
 * @param {number[]} order rows from the top
 * @param {number} lines
 * @param {number} top value of the strongest colour
 * @returns {HTMLCanvasElement}
 */
export function imageOf({ columns, values }, order, lines, top) {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [Math.max(columns, 1), Math.max(lines, 1)];
  const image = new ImageData(canvas.width, canvas.height);
  const pixels = new Uint32Array(image.data.buffer);
  const packed = shades(stops(isDarkTheme())).map(
    ([red, green, blue]) => (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0,
  );
  for (let line = 0; line < lines; line++) {
    const rows = rowsOfLine(order, line, lines);
    for (let column = 0; column < columns; column++) {
      let most = -Infinity;
      for (const row of rows) {
        const value = values[row * columns + column];
        if (value > most) most = value; // NaN is not
      }
      if (most === -Infinity) continue;
      const shade = Math.round(Math.min(Math.max(most / top, 0), 1) * (SHADES - 1));
      pixels[line * canvas.width + column] = packed[shade];
    }
  }
  /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d")).putImageData(image, 0, 0);
  return canvas;
}

/**
 * @param {number[]} order
 * @param {number} line
 * @param {number} lines
 */
export function rowsOfLine(order, line, lines) {
  const first = Math.floor((line * order.length) / lines);
  return order.slice(first, Math.max(Math.floor(((line + 1) * order.length) / lines), first + 1));
}
