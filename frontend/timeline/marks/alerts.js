// The alerts of the timeline, refreshed regularly, and the selected one.

import { getJson } from "../sources/source.js";

/**
 * `fired` is null for a pending alert, `resolved` for an open one. Public links leave out what is optional here.
 * @typedef {import("../../types.js").Alert} Alert
 * @typedef {Alert["severity"]} Severity
 * @typedef {import("../../types.js").Schemas["RuleText"]} Meaning
 * @typedef {{name: string, severity: Severity, count: number, isFiring: boolean}} Flag all that fired of one rule
 */

const [EVERY, EVERY_AFTER_ITS_END] = [5_000, 30_000]; // ms
/** @type {Severity[]} */
const SEVERITIES = ["info", "warning", "critical"];

/** Fires "change" when the alerts changed, and "select" when the selection changed. */
export class Alerts extends EventTarget {
  /** @type {Alert[]} in order of time */
  list = [];
  /** @type {Flag[]} the worst first */
  flags = [];
  /** @type {Alert|null} */
  selected = null;
  #source;
  #timeline;
  #shown = "";
  /** @type {Record<string, Meaning>} */
  #rules = {};

  /**
   * @param {import("../sources/source.js").Source} source
   * @param {import("../timeline.js").Timeline} timeline
   */
  constructor(source, timeline) {
    super();
    this.#source = source;
    this.#timeline = timeline;
  }

  /** Fetches them now and every few seconds while the page is visible. */
  follow() {
    const again = () => setTimeout(next, this.#timeline.ended === null ? EVERY : EVERY_AFTER_ITS_END);
    const next = async () => {
      if (!document.hidden) await this.load();
      again();
    };
    void next();
  }

  async load() {
    let found;
    try {
      found = await getJson(this.#source, "/alerts");
    } catch {
      return; // the server is away, or a file has none: what is shown stays
    }
    const text = JSON.stringify(found);
    if (text === this.#shown) return;
    this.#shown = text;
    this.list = found.alerts;
    this.#rules = found.rules;
    this.flags = flagsOf(this.list);
    const { selected } = this;
    if (selected) this.select(this.list.find((alert) => isSame(alert, selected)) ?? selected);
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Alert} alert @returns {Meaning|null} null where it isn't found */
  meaning(alert) {
    return alert.text ?? this.#rules[alert.rule] ?? null;
  }

  /** @param {Alert|null} alert */
  select(alert) {
    this.selected = alert;
    this.dispatchEvent(new Event("select"));
  }

  /**
   * @param {number} start
   * @param {number} stop
   * @returns {Alert[]} those that were open in this time
   */
  between(start, stop) {
    return this.list.filter((alert) => alert.pending <= stop && (alert.resolved ?? Infinity) >= start);
  }

  /** The end of its band. @param {Alert} alert */
  endOf(alert) {
    return alert.resolved ?? Math.max(this.#timeline.end, alert.fired ?? alert.pending);
  }
}

/** @param {Alert} alert */
export function stateOf(alert) {
  if (alert.resolved !== null) return "resolved";
  return alert.fired === null ? "pending" : "firing";
}

/** Its subject: the worker, and other labels as name=value. @param {Alert} alert */
export function subjectOf({ labels = {} }) {
  const { worker = "", ...others } = labels;
  return [worker, ...Object.entries(others).map(([name, value]) => `${name}=${value}`)]
    .filter(Boolean)
    .join(" ");
}

/** @param {Alert} one @param {Alert} other */
export function isSame(one, other) {
  return one.id === other.id && one.rule === other.rule && one.pending === other.pending;
}

/** @param {Alert} one @param {Alert} other; sorts the worse behind */
export function bySeverity(one, other) {
  return SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity);
}

/** @param {Alert[]} alerts */
function flagsOf(alerts) {
  /** @type {Map<string, Flag>} */
  const flags = new Map();
  for (const alert of alerts.filter(({ fired }) => fired !== null).sort(bySeverity)) {
    const { count = 0, isFiring = false } = flags.get(alert.rule) ?? {};
    const flag = {
      name: alert.rule,
      severity: alert.severity,
      count: count + 1,
      isFiring: isFiring || alert.resolved === null,
    };
    flags.set(alert.rule, flag);
  }
  const rank = (/** @type {Flag} */ flag) =>
    SEVERITIES.indexOf(flag.severity) + (flag.isFiring ? SEVERITIES.length : 0);
  return [...flags.values()].sort(
    (one, other) => rank(other) - rank(one) || one.name.localeCompare(other.name),
  );
}
