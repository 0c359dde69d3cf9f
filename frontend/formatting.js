// Numbers, durations and sizes as text for people. observatory/clusters/formatting.py follows the same rules;
// tests/formatting.json is the table of examples that both are tested with.

const MINUS = "−";
const UNKNOWN = "–";
const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const SECONDS = /** @type {[string, number][]} */ ([["d", 86_400], ["h", 3_600], ["min", 60], ["s", 1]]); // prettier-ignore

/**
 * @param {number} number
 * @returns {string} with commas between thousands and at most one decimal: "5,610", "2.5"
 */
export function formatCount(number) {
  const text = withCommas(Math.abs(number).toFixed(1).replace(/\.0$/, ""));
  return signed(text, number < 0 && text !== "0");
}

/**
 * Without Intl, whose first use in a page takes the browser 30 ms and more.
 * @param {string} number
 * @returns {string} with commas between thousands: "5610.25" as "5,610.25"
 */
export function withCommas(number) {
  const [whole, decimals] = number.split(".");
  return [whole.replace(/\B(?=(\d{3})+$)/g, ","), ...(decimals ? [decimals] : [])].join(".");
}

/**
 * A number of things with their name: "1 task", "5,610 tasks".
 * @param {number} number
 * @param {string} word in the singular
 */
export function formatCountOf(number, word) {
  return `${formatCount(number)} ${word}${number === 1 ? "" : "s"}`;
}

/**
 * @param {number} seconds
 * @returns {string} in its largest units: "412 ms", "2.31 s", "29.0 s", "2 min 31 s", "3 h 12 min"
 */
export function formatDuration(seconds) {
  return seconds === 0 ? "0 s" : signed(duration(Math.abs(seconds)), seconds < 0);
}

/**
 * @param {number} bytes
 * @returns {string} in the largest unit that leaves a number of at least 1: "12.4 MiB"
 */
export function formatBytes(bytes) {
  let [value, unit] = [Math.abs(bytes), 0];
  while (value >= 1024 && unit < SIZES.length - 1) [value, unit] = [value / 1024, unit + 1];
  const digits = unit === 0 ? 0 : value < 9.995 ? 2 : 1;
  return signed(`${value.toFixed(digits)} ${SIZES[unit]}`, bytes < 0);
}

/**
 * @param {number} share
 * @returns {string} in percent, with a decimal below ten: "0.4 %", "41 %"
 */
export function formatPercent(share) {
  const value = Math.abs(share) * 100;
  if (value > 0 && value < 0.05) return "< 0.1 %";
  return signed(`${percent(value)} %`, share < 0);
}

/**
 * @param {number} difference of two shares
 * @returns {string} "1.2 percentage points"
 */
export function formatPoints(difference) {
  return signed(`${percent(Math.abs(difference) * 100)} percentage points`, difference < 0);
}

/** @type {Record<string, (value: number) => string>} by unit */
const FORMATS = { seconds: formatDuration, share: formatPercent, bytes: formatBytes, count: formatCount };

/**
 * @param {number|null|undefined} value
 * @param {string} unit seconds, share, bytes or count
 */
export function formatValue(value, unit) {
  return value === null || value === undefined || Number.isNaN(value) ? UNKNOWN : FORMATS[unit](value);
}

/**
 * The difference of two values, with its sign: "+2.31 s", "−1.2 percentage points".
 * @param {number|null|undefined} value
 * @param {string} unit as of formatValue
 */
export function formatDifference(value, unit) {
  if (value === null || value === undefined) return UNKNOWN;
  const text = unit === "share" ? formatPoints(value) : formatValue(value, unit);
  return value > 0 ? `+${text}` : text;
}

/** @param {number} length seconds, more than 0 */
function duration(length) {
  if (length < 0.0009995) return `${(length * 1e6).toFixed(0)} µs`;
  if (length < 0.9995) return `${(length * 1e3).toFixed(length < 0.00995 ? 1 : 0)} ms`;
  if (length < 59.95) return `${length.toFixed(length < 9.995 ? 2 : 1)} s`;
  let rest = Math.round(length);
  const parts = SECONDS.map(([unit, size]) => {
    const amount = Math.floor(rest / size);
    rest -= amount * size;
    return { amount, unit };
  });
  const first = parts.findIndex(({ amount }) => amount);
  const shown = parts.slice(first, first + 2).filter(({ amount }) => amount);
  return shown.map(({ amount, unit }) => `${amount} ${unit}`).join(" ");
}

/** @param {number} value */
function percent(value) {
  if (value === 0) return "0";
  return value < 9.95 ? value.toFixed(1) : formatCount(Math.round(value));
}

/**
 * @param {string} text
 * @param {boolean} isNegative
 */
function signed(text, isNegative) {
  return isNegative ? `${MINUS}${text}` : text;
}
