// Colours for what Dask has no colours for: workers, files, kinds of memory, and task states.

// distinguishable for most people, on light and dark backgrounds
const WORKERS = [
  "#4477aa", "#ee6677", "#228833", "#ccaa33", "#66aacc", "#aa3377", "#997755", "#7766cc", "#44aa99", "#dd8844",
]; // prettier-ignore

/** @param {number} index of the worker among all */
export function workerColor(index) {
  return WORKERS[index % WORKERS.length];
}

/** Of two runs beside each other. */
export const runColors = { a: "#4477aa", b: "#dd8844" };

// light enough for dark text, on light and dark backgrounds
const FILES = [
  "#8ec3a7", "#e9b872", "#8fb3e0", "#e59a86", "#bba4d6", "#a9c46c", "#74c0c4", "#e8a0b4", "#cfae8b", "#9aa6dd",
  "#d9c75c", "#a8bcc4",
]; // prettier-ignore

/** @param {string} file: as in Dask's profile, what is of one file has one colour */
export function fileColor(file) {
  let hash = 0x811c9dc5; // FNV-1a
  for (let at = 0; at < file.length; at++) hash = Math.imul(hash ^ file.charCodeAt(at), 0x01000193) >>> 0;
  return FILES[hash % FILES.length];
}

/** As Dask's memory charts: what it manages blue, the rest lighter, what is on disk gray. */
export const memoryColors = {
  managed: "#3465c4",
  unmanaged: "#8fb4f0",
  spilled: "#9a9a9a",
  process: "#3465c4",
};

/** @type {Record<string, string>} */
export const stateColors = {
  processing: "#2ca02c",
  queued: "#b5cf6b",
  waiting: "#e0b83c",
  "no-worker": "#d62728",
  memory: "#3465c4",
  released: "#b0b6c0",
  erred: "#000000",
};
