// Times as text, in the browser's time zone.

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
 * Digits behind the second that a window needs.
 * @param {number} length of the window in seconds
 */
export function digitsFor(length) {
  if (length > 120) return 0;
  if (length > 2) return 1;
  return length > 0.05 ? 3 : 4;
}

/** @param {{start: number, stop: number}} window @returns {string} "12:01:10–12:03:41" */
export function formatWindow({ start, stop }) {
  const digits = digitsFor(stop - start);
  return `${formatTime(start, digits)}–${formatTime(stop, digits)}`;
}
