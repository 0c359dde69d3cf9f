// Times and durations in words. Times are shown in the browser's zone, which is named beside them.

/** @param {number} seconds since the epoch */
export function formatTime(seconds, digits = 1) {
  const date = new Date(Math.floor(seconds * 1000));
  const pad = (/** @type {number} */ value) => String(value).padStart(2, "0");
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  if (digits === 0) return clock;
  const fraction = Math.floor((seconds - Math.floor(seconds)) * 10 ** digits);
  return `${clock}.${String(fraction).padStart(digits, "0")}`;
}

/** @param {number} seconds since the epoch; date and time, to the second */
export function formatDate(seconds) {
  const date = new Date(seconds * 1000);
  return `${date.toLocaleDateString("en-CA")} ${formatTime(seconds, 0)}`;
}

/** @param {number} seconds since the epoch */
export function formatUtc(seconds) {
  return `${new Date(seconds * 1000).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

/** The name of the browser's zone: "UTC", "GMT+2", "CET". */
export function zoneName() {
  const parts = new Intl.DateTimeFormat("en-US", { timeZoneName: "short" }).formatToParts(new Date());
  return parts.find((part) => part.type === "timeZoneName")?.value ?? "";
}

/**
 * @param {number} seconds
 * @returns {string} "2 min 31 s", "412 ms", "3 h 2 min"
 */
export function formatDuration(seconds) {
  if (seconds < 0) return `−${formatDuration(-seconds)}`;
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 0.01) return `${(seconds * 1e3).toFixed(1)} ms`;
  if (seconds < 1) return `${Math.round(seconds * 1e3)} ms`;
  if (seconds < 59.95) return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const [days, hours] = [Math.floor(whole / 86400), Math.floor((whole % 86400) / 3600)];
  const [minutes, rest] = [Math.floor((whole % 3600) / 60), whole % 60];
  if (days) return `${days} d ${hours} h`;
  if (hours) return `${hours} h ${minutes} min`;
  return `${minutes} min ${rest} s`;
}

/** @param {number} bytes; "12.4 MiB" */
export function formatBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let [value, unit] = [bytes, 0];
  while (value >= 1024 && unit < units.length - 1) [value, unit] = [value / 1024, unit + 1];
  return unit === 0 ? `${value} B` : `${value.toFixed(value < 10 ? 2 : 1)} ${units[unit]}`;
}

/**
 * Digits behind the second that a window needs.
 * @param {number} length of the window in seconds
 */
export function digitsFor(length) {
  if (length > 120) return 0;
  if (length > 2) return 1;
  return length > 0.05 ? 3 : 4;
}
