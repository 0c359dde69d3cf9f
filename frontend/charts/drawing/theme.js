// The colours of the theme for canvases: CSS custom properties, read again when the theme changes.

/** @typedef {{background: string, surface: string, border: string, text: string, muted: string, accent: string,
 *   danger: string, warning: string, ok: string, idle: string, plot: string, hatch: string}} Theme
 * `plot` lies behind data: Dask's darkest colours and black have to be seen on it. */

/** @type {Theme|null} */
let current = null;
/** @returns {Theme} */
export function theme() {
  if (current) return current;
  const style = getComputedStyle(document.documentElement);
  const read = (/** @type {string} */ name) => style.getPropertyValue(`--${name}`).trim() || "#808080";
  current = {
    background: read("background"),
    surface: read("surface"),
    border: read("border"),
    text: read("text"),
    muted: read("muted"),
    accent: read("accent"),
    danger: read("danger"),
    warning: read("warning"),
    ok: read("ok"),
    idle: read("idle"),
    plot: read("surface"),
    hatch: read("border"),
  };
  if (document.documentElement.dataset.theme === "dark") {
    current.plot = mix(current.surface, current.text, 0.09);
    current.hatch = mix(current.surface, current.text, 0.28);
  }
  return current;
}

// pages/theme.js announces a change
window.addEventListener("themechange", () => (current = null));

/**
 * @param {string} one
 * @param {string} other
 * @param {number} share of the other
 */
function mix(one, other, share) {
  const [from, to] = [rgb(one), rgb(other)];
  return `rgb(${from.map((channel, place) => Math.round(channel + (to[place] - channel) * share)).join(" ")})`;
}

/** @type {Map<string, [number, number, number]>} */
const parsed = new Map();

/**
 * @param {string} color any CSS colour
 * @returns {[number, number, number]} red, green, blue: 0 to 255
 */
export function rgb(color) {
  const known = parsed.get(color);
  if (known) return known;
  if (/^#[0-9a-f]{6}$/i.test(color)) {
    const number = Number.parseInt(color.slice(1), 16);
    return remember(color, [number >> 16, (number >> 8) & 255, number & 255]);
  }
  const context = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  context.fillStyle = color;
  context.fillRect(0, 0, 1, 1);
  const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
  return remember(color, [red, green, blue]);
}

/**
 * @param {string} color
 * @param {[number, number, number]} channels
 */
function remember(color, channels) {
  parsed.set(color, channels);
  return channels;
}
