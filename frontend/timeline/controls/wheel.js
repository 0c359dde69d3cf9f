// What a turn of the wheel means on a time axis: with Ctrl or ⌘ it zooms, as a pinch on a trackpad, which browsers report
// with Ctrl; with Shift, or sideways, it moves the window; else it scrolls the page.

const LINE_HEIGHT = 16; // px a "line" of wheel movement
const ZOOM_SPEED = 0.0075; // doublings a px
const NOTCH = 60; // px: a mouse's notch counts as much, however far its driver scrolls
const DOM_DELTA_LINE = 1;

/**
 * `factor` is that of the window's length, `pixels` how far the window moves to the future.
 * @typedef {{does: "zoom", factor: number}|{does: "pan", pixels: number}|{does: "scroll"}} WheelMove
 * @typedef {Pick<WheelEvent, "deltaX"|"deltaY"|"deltaMode"|"ctrlKey"|"metaKey"|"shiftKey">} Turn
 */

/**
 * @param {Turn} turn
 * @returns {WheelMove}
 */
export function wheelMove({ deltaX, deltaY, deltaMode, ctrlKey, metaKey, shiftKey }) {
  const scale = deltaMode === DOM_DELTA_LINE ? LINE_HEIGHT : 1;
  if (ctrlKey || metaKey) {
    const pixels = Math.min(Math.max(deltaY * scale, -NOTCH), NOTCH);
    return { does: "zoom", factor: 2 ** (pixels * ZOOM_SPEED) };
  }
  if (shiftKey) return { does: "pan", pixels: (deltaX + deltaY) * scale };
  if (Math.abs(deltaX) > Math.abs(deltaY)) return { does: "pan", pixels: deltaX * scale };
  return { does: "scroll" };
}
