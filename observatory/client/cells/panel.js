// The panel below a cell that `%%observe` records: what the cluster does while the cell runs.
//
// The kernel is busy with the cell, so nothing is asked of it: it sends `state`, a few times a second.

/** @typedef {{name: string, color: string, done: number, erred: number|null, total: number|null}} Prefix */
/** @typedef {{done: number, erred: number, total: number, prefixes: Prefix[], more_prefixes: number,
 *   workers: number, threads: number, running: number, memory: number, memory_limit: number, spilled: number}} Figures */
/** @typedef {{name: string, outcome: string, seconds: number, url: string, note: string, figures: Figures|{}}} State */
/** @typedef {{get: (name: "state") => State, on: (event: string, listener: () => void) => void,
 *   off: (event: string, listener: () => void) => void}} Model */

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** @param {{model: Model, el: HTMLElement}} cell */
function render({ model, el }) {
  const draw = () => el.replaceChildren(panel(model.get("state")));
  model.on("change:state", draw);
  draw();
  return () => model.off("change:state", draw);
}

/** @param {State} state */
function panel({ name, outcome, seconds, url, note, figures }) {
  const parts = [
    line("observatory-title", part("strong", "", name), ` ${outcome} · ${seconds.toFixed(1)} s`),
    ...("done" in figures ? drawn(figures) : []),
  ];
  if (note) parts.push(part("div", "observatory-note", note));
  if (/^https?:\/\//.test(url)) parts.push(line("", link(url)));
  const whole = line("observatory-panel", ...parts);
  whole.setAttribute("role", "group");
  whole.setAttribute("aria-label", `Dask Observatory: ${name}`);
  return whole;
}

/** @param {Figures} figures */
function drawn(figures) {
  const { done, erred, total, prefixes, more_prefixes: more, threads, running, workers } = figures;
  const { memory, memory_limit: limit, spilled } = figures;
  const failed = erred ? `, ${count(erred)} failed` : "";
  return [
    bar("Tasks", done, total, `${count(done)} / ${count(total)}${failed}`),
    bar(
      "Threads",
      running,
      threads,
      `${count(running)} of ${count(threads)} busy, ${plural(workers, "worker")}`,
    ),
    bar(
      "Memory",
      memory,
      limit,
      `${bytes(memory)}${limit ? ` of ${bytes(limit)}` : ""}${spilled ? `, ${bytes(spilled)} spilled` : ""}`,
    ),
    ...prefixes.map(prefixBar),
    ...(more ? [part("div", "observatory-note", `and ${plural(more, "more prefix", "more prefixes")}`)] : []),
  ];
}

/** @param {Prefix} prefix */
function prefixBar({ name, color, done, erred, total }) {
  const failed = erred ? `, ${count(erred)} failed` : "";
  return bar(
    name,
    done,
    total ?? done,
    `${count(done)} / ${total === null ? "?" : count(total)}${failed}`,
    color,
  );
}

/**
 * @param {string} name
 * @param {number} value
 * @param {number} most 0: not known
 * @param {string} text
 * @param {string} [color]
 */
function bar(name, value, most, text, color) {
  const share = most > 0 ? Math.min(Math.max(value / most, 0), 1) : 0;
  const filled = part("span", "observatory-filled");
  filled.style.width = `${(100 * share).toFixed(1)}%`;
  if (color) filled.style.backgroundColor = color; // takes colours alone, whatever it says
  const track = line("observatory-track", filled);
  track.setAttribute("role", "progressbar");
  track.setAttribute("aria-label", name);
  track.setAttribute("aria-valuemax", "100");
  track.setAttribute("aria-valuenow", (100 * share).toFixed(0));
  track.setAttribute("aria-valuetext", text);
  const label = part("span", "observatory-name", name);
  label.title = name;
  return line("observatory-bar", label, track, part("span", "observatory-value", text));
}

/** @param {string} url */
function link(url) {
  const anchor = document.createElement("a");
  anchor.href = url;
  anchor.target = "_blank";
  anchor.rel = "noopener noreferrer";
  anchor.textContent = "Open in Observatory";
  return anchor;
}

/**
 * @param {string} name
 * @param {string} classes
 * @param {string} [text]
 */
function part(name, classes, text = "") {
  const element = document.createElement(name);
  element.className = classes;
  element.textContent = text;
  return element;
}

/**
 * @param {string} classes
 * @param {...(Node|string)} parts
 */
function line(classes, ...parts) {
  const element = part("div", classes);
  element.append(...parts);
  return element;
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString("en-US");
}

/**
 * @param {number} number
 * @param {string} one
 * @param {string} [several]
 */
function plural(number, one, several = `${one}s`) {
  return `${count(number)} ${number === 1 ? one : several}`;
}

/** @param {number} number */
function bytes(number) {
  const unit = number > 0 ? Math.min(Math.floor(Math.log2(number) / 10), UNITS.length - 1) : 0;
  const value = number / 1024 ** Math.max(unit, 0);
  return `${value.toFixed(unit > 0 && value < 100 ? 1 : 0)} ${UNITS[Math.max(unit, 0)]}`;
}

export default { render };
