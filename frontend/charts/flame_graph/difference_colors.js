// The colours of differences, as in Gregg's differential flame graphs: red for more, blue for less. People who see no red or no
// green tell these two apart; a triangle beside the name says the same.

/** @typedef {[number, number, number]} Rgb */

// light enough for dark text (RdBu of ColorBrewer)
/** @type {Record<"more"|"same"|"less", Rgb>} */
const COLORS = { more: [239, 138, 98], same: [222, 224, 228], less: [103, 169, 207] };
const VISIBLE = 0.005; // a share: smaller differences have no triangle

/**
 * @param {number} difference of shares
 * @param {number} scale the difference with the strongest colour
 * @returns {string}
 */
export function differenceColor(difference, scale) {
  const end = difference > 0 ? COLORS.more : COLORS.less;
  const strength = Math.min(Math.abs(difference) / scale, 1);
  const mixed = COLORS.same.map((value, channel) => Math.round(value + (end[channel] - value) * strength));
  return `rgb(${mixed.join(" ")})`;
}

/** @param {number} difference of shares */
export function differenceMark(difference) {
  if (Math.abs(difference) < VISIBLE) return "";
  return difference > 0 ? "▲ " : "▼ ";
}
