// What the profile of the window is compared with, and which function is zoomed into.

const LONGEST_ID = 9; // digits
const LONGEST_FUNCTION = 500;
const EARLIEST = 946_684_800; // 2000
const LATEST = 4_102_444_800; // 2100

/**
 * "before": the window of the same length before it. "window": one that was pinned, in seconds. "run": another run.
 * @typedef {{kind: "before"}|{kind: "window", start: number, stop: number}|{kind: "run", id: number}} Against
 */

/** Fires "change". */
export class ProfileOptions extends EventTarget {
  /** @type {Against|null} null: nothing */
  against = null;
  /** whether the other profile is drawn, and this one is what it is compared with */
  isSwapped = false;
  /** as `functionName` of tree.js writes it; "": nothing is zoomed into */
  zoomed = "";

  /** @param {{against?: Against|null, isSwapped?: boolean, zoomed?: string}} part; what isn't given stays as it is */
  set(part) {
    const { against = this.against, isSwapped = this.isSwapped, zoomed = this.zoomed } = part;
    if (
      formatAgainst(against) === formatAgainst(this.against) &&
      isSwapped === this.isSwapped &&
      zoomed === this.zoomed
    )
      return;
    Object.assign(this, { against, isSwapped, zoomed });
    this.dispatchEvent(new Event("change"));
  }

  /** @param {URLSearchParams} parameters */
  readFrom(parameters) {
    this.set({
      against: parseAgainst(parameters.get("against") ?? ""),
      isSwapped: parameters.get("swap") === "1",
      zoomed: parameters.get("zoom")?.slice(0, LONGEST_FUNCTION) ?? "",
    });
  }

  /** @param {URLSearchParams} parameters */
  writeTo(parameters) {
    if (this.against) parameters.set("against", formatAgainst(this.against));
    if (this.against && this.isSwapped) parameters.set("swap", "1");
    if (this.zoomed) parameters.set("zoom", this.zoomed);
  }
}

/**
 * @param {Against|null} against
 * @returns {string} for an address; "" for nothing
 */
export function formatAgainst(against) {
  if (against?.kind === "window") return `${against.start.toFixed(3)}-${against.stop.toFixed(3)}`;
  if (against?.kind === "run") return `run-${against.id}`;
  return against?.kind ?? "";
}

/**
 * @param {string} text from an address
 * @returns {Against|null} null for what means nothing
 */
export function parseAgainst(text) {
  if (text === "before") return { kind: "before" };
  const run = /^run-([1-9]\d*)$/.exec(text);
  if (run) return run[1].length <= LONGEST_ID ? { kind: "run", id: Number(run[1]) } : null;
  const times = /^(\d{1,10}(?:\.\d{1,6})?)-(\d{1,10}(?:\.\d{1,6})?)$/.exec(text);
  if (!times) return null;
  const [start, stop] = [Number(times[1]), Number(times[2])];
  return start > EARLIEST && stop < LATEST && start < stop ? { kind: "window", start, stop } : null;
}
