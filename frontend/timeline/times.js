// Times as text, in the browser's time zone.

/** @param {number} number with at least two digits */
const pad = (number) => String(number).padStart(2, "0");

/** @param {number} seconds since the epoch */
export function formatTime(seconds, digits = 1) {
  const date = new Date(Math.floor(seconds * 1000));
  const clock = `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`;
  if (digits === 0) return clock;
  const fraction = Math.floor((seconds - Math.floor(seconds)) * 10 ** digits);
  return `${clock}.${String(fraction).padStart(digits, "0")}`;
}

/** @param {number} seconds since the epoch; date and time, to the second */
export function formatDate(seconds) {
  const date = new Date(seconds * 1000);
  const day = `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`;
  return `${day} ${formatTime(seconds, 0)}`;
}

/** @param {number} seconds since the epoch */
export function formatUtc(seconds) {
  return `${new Date(seconds * 1000).toISOString().replace("T", " ").replace("Z", "")} UTC`;
}

/** The browser's zone: "UTC", "UTC+2", "UTC−3:30". */
export function zoneName() {
  const minutes = -new Date().getTimezoneOffset();
  if (!minutes) return "UTC";
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `UTC${minutes > 0 ? "+" : "−"}${hours}${rest ? `:${pad(rest)}` : ""}`;
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
