// A lane of the task stream, painted as charts paint it, with how much of it is coloured and how.

import "./browser.js";
import { LanePainter } from "../../frontend/charts/task_stream/lanes/paint.js";
import { Attempts } from "../../frontend/timeline/tasks/attempts.js";
import { Model } from "../../frontend/timeline/model.js";
import { Selection } from "../../frontend/timeline/selection.js";
import { Stragglers } from "../../frontend/timeline/tasks/stragglers.js";
import { tileIndex } from "../../frontend/timeline/tiles/levels.js";
import { makeTile } from "../../frontend/timeline/tiles/tile_store.js";
import { FIRST, decoded } from "./make.js";

export const HEIGHT = 20;
/** @typedef {Parameters<typeof import("./make.js").spans>[0]} Rows */

export function model() {
  const made = new Model();
  const prefixes = [
    { id: 1, name: "inc", color: "#0000ff", seconds: 0, is_other: false },
    { id: 2, name: "sum", color: "#00ff00", seconds: 0, is_other: false },
  ];
  made.load({ workers: [], lanes: [], series: {}, prefixes });
  return made;
}

/** @param {Uint8Array} data @param {number} level */
export function tileOf(data, level) {
  return makeTile("spans", level, tileIndex(FIRST, level), true, decoded(data));
}

/** A painter of a model whose tasks have no marks, but for what is given. @param {object} [marks] */
export function painterOf(marks) {
  return new LanePainter({
    model: model(),
    selection: new Selection(),
    stragglers: new Stragglers(),
    attempts: new Attempts(),
    stolen: { of: () => null },
    lineage: { relations: new Map() },
    ...marks,
  });
}

/**
 * Paints a lane, black and white but for the prefixes' colours.
 * @param {Uint8Array} data
 * @param {{seconds?: number, width?: number, selected?: object, hidden?: number[], level?: number, related?: string[],
 *   stolen?: import("../../frontend/timeline/tasks/stolen.js").Stolen["of"]}} options
 */
export function paint(
  data,
  {
    seconds = 1000,
    width = 500,
    selected = {},
    hidden = [],
    level = 31,
    related = [],
    stolen = () => null,
  } = {},
) {
  const selection = new Selection();
  selection.hide(hidden);
  selection.set(selected);
  const stragglers = new Stragglers();
  stragglers.update([tileOf(data, level)], FIRST, FIRST + seconds);
  const attempts = new Attempts();
  attempts.update([tileOf(data, level)]);
  const lineage = {
    relations: new Map(related.map((key) => /** @type {[string, "dependency"]} */ ([key, "dependency"]))),
  };
  const painter = painterOf({ selection, stragglers, attempts, stolen: { of: stolen }, lineage });
  const window = { start: FIRST, stop: FIRST + seconds, width, height: HEIGHT, labelWidth: 40 };
  const rows = [{ lanes: [1], threads: 1, slot: "w", top: 0, height: HEIGHT }];
  painter.paint(/** @type {any} */ (rows), [tileOf(data, level)], window, [255, 255, 255]);
  const pixels = /** @type {ImageData} */ (painter.pixels.image).data;
  // how much of the white has gone, in pixels: of red, green, blue
  const sums = [0, 0, 0];
  for (let place = 0; place < pixels.length; place += 4) {
    for (const channel of [0, 1, 2]) sums[channel] += 1 - pixels[place + channel] / 255;
  }
  const colorAt = (/** @type {number} */ line) => {
    const place = 4 * (width * line + Math.floor(width / 2));
    return [...pixels.slice(place, place + 3)];
  };
  return {
    sums,
    share: sums[0] / (width * HEIGHT),
    top: colorAt(0),
    bottom: colorAt(HEIGHT - 1),
    middle: [...Array(HEIGHT * 20).keys()].map((place) => {
      const at = 4 * (width * (place % HEIGHT) + Math.floor(width / 2) + Math.floor(place / HEIGHT));
      return [...pixels.slice(at, at + 3)];
    }),
    labelled: painter.labelled.length,
  };
}

/** @param {number} count @param {number} duration @returns {Rows} */
export function shortTasks(count, duration) {
  return [...Array(count).keys()].map((n) => [1, 1, 0, 0, FIRST + n, FIRST + n + duration]);
}
