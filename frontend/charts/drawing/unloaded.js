// Draws the parts of a window whose data is not loaded: dotted, so that they don't look like times without data.

import { label } from "./gaps.js";
import { dots } from "./surface.js";
import { theme } from "./theme.js";

/** @typedef {import("../../timeline/tiles/unloaded.js").Unloaded} Unloaded */

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Unloaded[]} parts
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} top
 * @param {number} height
 */
export function drawUnloaded(context, parts, x, range, top, height) {
  const colors = theme();
  for (const part of parts) {
    const [from, to] = [Math.max(x(part.start), range[0]), Math.min(x(part.stop), range[1])];
    if (to <= from) continue;
    context.fillStyle = colors.background;
    context.fillRect(from, top, to - from, height);
    context.fillStyle = dots(context, colors.muted);
    context.fillRect(from, top, to - from, height);
    label(context, part.message, from, to, top + height / 2, part.failed ? colors.danger : colors.muted);
  }
}

/**
 * The first part in [start, stop); one whose request failed before others.
 * @param {Unloaded[]} parts
 * @param {number} start
 * @param {number} stop
 */
export function unloadedWithin(parts, start, stop) {
  const found = parts.filter((part) => part.start < stop && part.stop > start);
  return found.find((part) => part.failed) ?? found[0] ?? null;
}
