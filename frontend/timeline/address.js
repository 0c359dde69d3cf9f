// Keeps the view in the page's address, so that a copied link shows the same. Invalid parts are ignored.

import { DEFAULT_TAB, TABS } from "../contract.js";
import { formatIds, parseIds } from "./id_ranges.js";
import { SPEEDS } from "./timeline.js";

/** @typedef {Pick<import("../types.js").Context, "timeline"|"selection">} Shown */
/** @typedef {import("../contract.js").TabName} TabName */
/** @typedef {import("./features.js").Options} Options */

const EARLIEST = 946_684_800; // 2000
const LATEST = 4_102_444_800; // 2100
const LONGEST_KEY = 2000;
const CHART = /^[a-z-]{1,40}(:[0-9]{1,4})?$/;
const MOST_CHARTS = 100;
const MOST_HIDDEN = 10_000;
const LONGEST_HIDDEN = 1000; // characters: what is written longer would make addresses that servers refuse
const WRITE_INTERVAL = 300; // ms: browsers refuse more than about 100 changes in 30 s

/** Keeps the browser's address in step with what is on the screen. */
export class Address {
  tab = DEFAULT_TAB;
  /** @type {string[]|undefined} the charts that are shown, in their order: "name" or "name:height"; undefined: those of the tab */
  charts;
  #timer = 0;
  #shown;
  #options;
  #keptCharts;

  /**
   * @param {Shown} shown
   * @param {Options[]} options of the charts, with their parts of the address
   * @param {(tab: TabName) => string[]|undefined} keptCharts those that the person has chosen for a tab
   */
  constructor(shown, options, keptCharts = () => undefined) {
    this.#shown = shown;
    this.#options = options;
    this.#keptCharts = keptCharts;
  }

  /** Takes over what an address says, then follows the page. */
  open(query = location.search) {
    const parameters = new URLSearchParams(query);
    this.tab = tabOf(query);
    this.charts = valid(parameters.get("charts")?.split(",") ?? this.#keptCharts(this.tab));
    readTimeline(parameters, this.#shown.timeline);
    readSelection(parameters, this.#shown.selection);
    for (const options of this.#options) options.readFrom(parameters);
    for (const source of [this.#shown.timeline, this.#shown.selection, ...this.#options])
      source.addEventListener("change", () => this.changed());
  }

  /**
   * Opens a tab as a new entry of the browser's history, so that Back leads to the one before.
   * @param {TabName} name
   */
  openTab(name) {
    window.clearTimeout(this.#timer);
    this.#write(); // the entry that is left
    this.showTab(name);
    history.pushState(null, "", location.pathname + this.query());
  }

  /**
   * Shows a tab in the current entry of the history.
   * @param {TabName} name
   */
  showTab(name) {
    this.tab = name;
    this.charts = valid(this.#keptCharts(name));
    this.changed();
  }

  /**
   * The query string of what is on the screen: "?from=…", or "" for nothing to say.
   * @param {TabName} [tab] another than the open one
   */
  query(tab = this.tab) {
    const parameters = new URLSearchParams();
    if (tab !== DEFAULT_TAB) parameters.set("tab", tab);
    writeTimeline(parameters, this.#shown.timeline);
    if (tab === this.tab && this.charts) parameters.set("charts", this.charts.join(","));
    writeSelection(parameters, this.#shown.selection);
    for (const options of this.#options) options.writeTo(parameters);
    const query = parameters.toString();
    return query && `?${query}`;
  }

  changed() {
    this.#timer ||= window.setTimeout(() => this.#write(), WRITE_INTERVAL);
  }

  #write() {
    this.#timer = 0;
    const query = this.query();
    if (query !== location.search) history.replaceState(null, "", location.pathname + query);
  }
}

/**
 * @param {string} query "?tab=…"
 * @returns {TabName} the default one where it names none that there is
 */
export function tabOf(query) {
  const wanted = new URLSearchParams(query).get("tab");
  return TABS.find((name) => name === wanted) ?? DEFAULT_TAB;
}

/**
 * Each chart once.
 * @param {string[]|undefined} charts
 */
function valid(charts) {
  const names = charts?.map((text) => text.split(":")[0]);
  return charts
    ?.filter((text, place) => CHART.test(text) && names?.indexOf(names[place]) === place)
    .slice(0, MOST_CHARTS);
}

/** @param {URLSearchParams} parameters @param {Shown["timeline"]} timeline */
function readTimeline(parameters, timeline) {
  const isTime = (/** @type {number} */ value) => value > EARLIEST && value < LATEST;
  const [from, to, at] = ["from", "to", "at"].map((name) => numberOf(parameters, name, isTime));
  const live = numberOf(parameters, "live", (value) => value > 0 && value < LATEST);
  const speed = numberOf(parameters, "speed", (value) => SPEEDS.includes(value));
  if (speed !== null) timeline.setSpeed(speed);
  if (from !== null && to !== null && from < to) timeline.setWindow(from, to);
  if (at !== null) timeline.setPlayhead(at);
  if (live !== null) timeline.goLive(live);
}

/** @param {URLSearchParams} parameters @param {Shown["timeline"]} timeline */
function writeTimeline(parameters, { live, start, stop, playhead, length, speed }) {
  const times = live ? {} : { from: start, to: stop, at: playhead };
  for (const [name, time] of Object.entries(times)) parameters.set(name, time.toFixed(3));
  if (live) parameters.set("live", String(Math.round(length * 1000) / 1000));
  if (speed !== 1) parameters.set("speed", String(speed));
}

/** @param {URLSearchParams} parameters @param {Shown["selection"]} selection */
function readSelection(parameters, selection) {
  const isId = (/** @type {number} */ value) => Number.isInteger(value) && value > 0;
  const [worker, prefix] = ["worker", "prefix"].map((name) => numberOf(parameters, name, isId));
  const key = parameters.get("key");
  selection.set({ worker, prefix, key: key !== null && key.length <= LONGEST_KEY ? key : null });
  selection.hide(parseIds(parameters.get("hide") ?? "", MOST_HIDDEN));
}

/** @param {URLSearchParams} parameters @param {Shown["selection"]} selection */
function writeSelection(parameters, { worker, prefix, key, hidden }) {
  for (const [name, value] of Object.entries({ worker, prefix, key }))
    if (value !== null) parameters.set(name, String(value));
  if (hidden.size > MOST_HIDDEN) return;
  const ids = formatIds([...hidden].sort((one, other) => one - other));
  if (ids && ids.length <= LONGEST_HIDDEN) parameters.set("hide", ids);
}

/**
 * @param {URLSearchParams} parameters
 * @param {string} name
 * @param {(value: number) => boolean} isValid
 * @returns {number|null} null: there is none that is valid
 */
function numberOf(parameters, name, isValid) {
  const text = parameters.get(name);
  const value = text === null || text.trim() === "" ? NaN : Number(text);
  return Number.isFinite(value) && isValid(value) ? value : null;
}
