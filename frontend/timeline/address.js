// Keeps the view in the page's address, so that a copied link shows the same. Invalid parts are ignored.

import { DEFAULT_TAB, TABS } from "../contract.js";
import { formatIds, parseIds } from "./id_ranges.js";
import { HEAT_ORDERS, QUANTITY_NAMES } from "./heat_options.js";
import { LOG_LEVELS, LOG_ROLES } from "./log_options.js";
import { MEMORY_MEASURES, MOST_RUNS } from "./run_options.js";
import { formatAgainst, parseAgainst } from "./profile_options.js";
import { ORDERS } from "./lane_options.js";
import { SPEEDS } from "./timeline.js";

/** @typedef {Pick<import("../types.js").Context, "timeline"|"selection"|"laneOptions"|"heatOptions"|"logOptions"|"runOptions"|"profileOptions">} Shown */
/** @typedef {import("./lane_options.js").Order} Order */
/** @typedef {import("../contract.js").TabName} TabName */

const EARLIEST = 946_684_800; // 2000
const LATEST = 4_102_444_800; // 2100
const LONGEST_TEXT = 2000;
const LONGEST_FILTER = 100;
const LONGEST_VALUE = 300;
const LONGEST_PATTERN = 500;
const MOST_HIDDEN = 10_000;
const LONGEST_HIDDEN = 1000; // characters: what is written longer would make addresses that servers refuse
const WRITE_INTERVAL = 300; // ms: browsers refuse more than about 100 changes in 30 s

/**
 * `live` is the window's length in seconds.
 * @typedef {{tab?: TabName, from?: number, to?: number, at?: number, live?: number, speed?: number, charts?: string[],
 *   worker?: number, prefix?: number, key?: string, hide?: number[], sort?: Order, rows?: string, only?: boolean, label?: string, value?: string,
 *   heat?: import("./heat_options.js").QuantityName, by?: string, rank?: import("./heat_options.js").HeatOrder,
 *   level?: import("./log_options.js").LogLevel, process?: import("./log_options.js").LogRole, logger?: string, match?: string,
 *   regex?: boolean, runs?: number[], measure?: import("./run_options.js").MemoryMeasure,
 *   against?: import("./profile_options.js").Against, swap?: boolean, zoom?: string}} Place
 */

/**
 * @param {string} query "?from=…"
 * @returns {Place}
 */
export function parsePlace(query) {
  const parameters = new URLSearchParams(query);
  /** @type {(name: string, valid: (value: number) => boolean) => number|undefined} */
  const number = (name, valid) => {
    const text = parameters.get(name);
    const value = text === null || text.trim() === "" ? NaN : Number(text);
    return Number.isFinite(value) && valid(value) ? value : undefined;
  };
  const isTime = (/** @type {number} */ value) => value > EARLIEST && value < LATEST;
  const isId = (/** @type {number} */ value) => Number.isInteger(value) && value > 0;
  const key = parameters.get("key");
  const runs = parameters.get("runs");
  const hidden = parseIds(parameters.get("hide") ?? "", MOST_HIDDEN);
  /** @type {Place} */
  const place = {
    tab: TABS.find((name) => name === parameters.get("tab")),
    from: number("from", isTime),
    to: number("to", isTime),
    at: number("at", isTime),
    live: number("live", (value) => value > 0 && value < LATEST),
    speed: number("speed", (value) => SPEEDS.includes(value)),
    charts: parameters
      .get("charts")
      ?.split(",")
      .filter((name) => /^[a-z-]{1,40}$/.test(name)),
    worker: number("worker", isId),
    prefix: number("prefix", isId),
    key: key !== null && key.length <= LONGEST_TEXT ? key : undefined,
    hide: hidden.length ? hidden : undefined,
    sort: ORDERS.find((order) => order.replace(" ", "-") === parameters.get("sort")),
    rows: parameters.get("rows")?.slice(0, LONGEST_FILTER) || undefined,
    only: parameters.get("only") === "prefix" || undefined,
    label: parameters.get("label")?.slice(0, LONGEST_FILTER) || undefined,
    value: parameters.get("value")?.slice(0, LONGEST_VALUE) || undefined,
    heat: QUANTITY_NAMES.find((name) => name === parameters.get("heat")),
    by: parameters.get("by")?.slice(0, LONGEST_FILTER) || undefined,
    rank: HEAT_ORDERS.find((order) => order === parameters.get("rank")),
    level: LOG_LEVELS.find((level) => String(level) === parameters.get("level")),
    process: LOG_ROLES.find((role) => role === parameters.get("process")),
    logger: parameters.get("logger")?.slice(0, LONGEST_PATTERN) || undefined,
    match: parameters.get("match")?.slice(0, LONGEST_PATTERN) || undefined,
    regex: parameters.get("regex") === "1" || undefined,
    runs: runs === null ? undefined : parseIds(runs, MOST_RUNS),
    measure: MEMORY_MEASURES.find((measure) => measure === parameters.get("measure")),
    against: parseAgainst(parameters.get("against") ?? "") ?? undefined,
    swap: parameters.get("swap") === "1" || undefined,
    zoom: parameters.get("zoom")?.slice(0, LONGEST_PATTERN) || undefined,
  };
  if (place.from === undefined || place.to === undefined || place.from >= place.to) {
    delete place.from;
    delete place.to;
  }
  return place;
}

/**
 * @param {Place} place
 * @returns {string} "?from=…", or "" for nothing to say
 */
export function formatPlace(place) {
  const parameters = new URLSearchParams();
  if (place.tab && place.tab !== DEFAULT_TAB) parameters.set("tab", place.tab);
  for (const name of /** @type {const} */ (["from", "to", "at"])) {
    const time = place[name];
    if (time !== undefined) parameters.set(name, time.toFixed(3));
  }
  if (place.live !== undefined) parameters.set("live", String(Math.round(place.live * 1000) / 1000));
  if (place.speed !== undefined && place.speed !== 1) parameters.set("speed", String(place.speed));
  if (place.charts) parameters.set("charts", place.charts.join(","));
  for (const name of /** @type {const} */ (["worker", "prefix", "key"])) {
    const value = place[name];
    if (value !== undefined) parameters.set(name, String(value));
  }
  const hidden = formatIds(place.hide ?? []);
  if (hidden && hidden.length <= LONGEST_HIDDEN) parameters.set("hide", hidden);
  if (place.sort) parameters.set("sort", place.sort.replace(" ", "-"));
  if (place.rows) parameters.set("rows", place.rows);
  if (place.only) parameters.set("only", "prefix");
  for (const name of /** @type {const} */ ([
    "label",
    "value",
    "heat",
    "by",
    "rank",
    "level",
    "process",
    "logger",
    "match",
  ])) {
    const value = place[name];
    if (value) parameters.set(name, String(value));
  }
  if (place.regex) parameters.set("regex", "1");
  if (place.runs) parameters.set("runs", place.runs.join(","));
  if (place.measure) parameters.set("measure", place.measure);
  if (place.against) parameters.set("against", formatAgainst(place.against));
  if (place.against && place.swap) parameters.set("swap", "1");
  if (place.zoom) parameters.set("zoom", place.zoom);
  const query = parameters.toString();
  return query && `?${query}`;
}

/** Keeps the browser's address in step with what is on the screen. */
export class Address {
  tab = DEFAULT_TAB;
  /** @type {string[]|undefined} names of the tab's charts that are shown; undefined: all */
  charts;
  #timer = 0;
  #shown;

  /** @param {Shown} shown */
  constructor(shown) {
    this.#shown = shown;
  }

  /** Takes over what the address says, then follows the page. */
  open() {
    const place = parsePlace(location.search);
    this.tab = place.tab ?? DEFAULT_TAB;
    this.charts = place.charts;
    applyPlace(place, this.#shown);
    const { timeline, selection, laneOptions, heatOptions, logOptions, runOptions, profileOptions } =
      this.#shown;
    for (const source of [
      timeline,
      selection,
      laneOptions,
      heatOptions,
      logOptions,
      runOptions,
      profileOptions,
    ]) {
      source.addEventListener("change", () => this.changed());
    }
  }

  /** @param {TabName} name */
  openTab(name) {
    this.tab = name;
    this.charts = undefined;
    this.changed();
  }

  /**
   * The query string of what is on the screen.
   * @param {TabName} [tab] another than the open one
   */
  query(tab = this.tab) {
    const charts = tab === this.tab ? this.charts : undefined;
    return formatPlace({ ...currentPlace(this.#shown, charts), tab });
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
 * @param {Place} place
 * @param {Shown} shown
 */
export function applyPlace(
  place,
  { timeline, selection, laneOptions, heatOptions, logOptions, runOptions, profileOptions },
) {
  if (place.speed !== undefined) timeline.setSpeed(place.speed);
  if (place.from !== undefined && place.to !== undefined) timeline.setWindow(place.from, place.to);
  if (place.at !== undefined) timeline.setPlayhead(place.at);
  if (place.live !== undefined) timeline.goLive(place.live);
  selection.set({ worker: place.worker ?? null, prefix: place.prefix ?? null, key: place.key ?? null });
  selection.hide(place.hide ?? []);
  laneOptions.set({
    order: place.sort ?? null,
    filter: place.rows ?? "",
    onlyPrefix: place.only ?? false,
    label: place.label ?? null,
    value: place.value ?? null,
  });
  heatOptions.set({ quantity: place.heat, group: place.by, order: place.rank });
  const { level = null, process = null, logger = "", match = "", regex = false } = place;
  logOptions.set({ level, role: process, logger, match, isRegex: regex });
  runOptions.set({ runs: place.runs ?? null, measure: place.measure });
  profileOptions.set({
    against: place.against ?? null,
    isSwapped: place.swap ?? false,
    zoomed: place.zoom ?? "",
  });
}

/**
 * @param {Shown} shown
 * @param {string[]|undefined} charts
 * @returns {Place}
 */
export function currentPlace(
  { timeline, selection, laneOptions, heatOptions, logOptions, runOptions, profileOptions },
  charts,
) {
  const { level, role, logger, match, isRegex } = logOptions.choice;
  const when = timeline.live
    ? { live: timeline.length }
    : { from: timeline.start, to: timeline.stop, at: timeline.playhead };
  return {
    ...when,
    speed: timeline.speed,
    charts,
    worker: selection.worker ?? undefined,
    prefix: selection.prefix ?? undefined,
    key: selection.key ?? undefined,
    hide:
      selection.hidden.size && selection.hidden.size <= MOST_HIDDEN
        ? [...selection.hidden].sort((one, other) => one - other)
        : undefined,
    sort: laneOptions.order ?? undefined,
    rows: laneOptions.filter || undefined,
    only: laneOptions.onlyPrefix || undefined,
    label: laneOptions.label ?? undefined,
    value: laneOptions.value ?? undefined,
    heat: heatOptions.quantity === QUANTITY_NAMES[0] ? undefined : heatOptions.quantity,
    by: heatOptions.group ?? undefined,
    rank: heatOptions.order === HEAT_ORDERS[0] ? undefined : heatOptions.order,
    level: level ?? undefined,
    process: role ?? undefined,
    logger: logger || undefined,
    match: match || undefined,
    regex: isRegex || undefined,
    runs: runOptions.runs ?? undefined,
    measure: runOptions.measure === MEMORY_MEASURES[0] ? undefined : runOptions.measure,
    against: profileOptions.against ?? undefined,
    swap: profileOptions.isSwapped || undefined,
    zoom: profileOptions.zoomed || undefined,
  };
}
