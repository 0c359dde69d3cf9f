// Amounts of a unit as observatory/alerts/rules/units.py names it, short, in words that alerts/rules/amounts.py reads.

const SIZES = /** @type {[string, number][]} */ ([
  ["TiB", 1024 ** 4], ["GiB", 1024 ** 3], ["MiB", 1024 ** 2], ["KiB", 1024], ["B", 1],
]); // prettier-ignore
const DURATIONS = /** @type {[string, number][]} */ ([
  ["d", 86_400], ["h", 3600], ["min", 60], ["s", 1], ["ms", 0.001],
]); // prettier-ignore

/** @type {Record<string, string>} */
const SYMBOLS = { percent: "%", watts: "W", celsius: "°C" };

/**
 * @param {number} value
 * @param {string} unit bytes, seconds, ratio, percent, watts, celsius or "", each also with /s
 * @returns {string}
 */
export function formatAmount(value, unit) {
  if (unit.endsWith("/s")) {
    const text = formatAmount(value, unit.slice(0, -2));
    return unit === "/s" ? text : `${text}/s`;
  }
  if (unit === "ratio") return `${short(value * 100)} %`;
  if (unit in SYMBOLS) return `${short(value)} ${SYMBOLS[unit]}`;
  const sizes = unit === "bytes" ? SIZES : unit === "seconds" ? DURATIONS : null;
  if (!sizes || value === 0) return short(value);
  const [name, size] = sizes.find(([, each]) => Math.abs(value) >= each) ?? sizes[sizes.length - 1];
  return `${short(value / size)} ${name}`;
}

/** With three digits that count. @param {number} value */
function short(value) {
  const exact = Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
  return String(exact);
}
