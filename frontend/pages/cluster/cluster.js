// The page of one cluster: one timeline, and every chart drawn from (window, playhead).
//
// For browser tests: <html data-ready="1"> once everything in sight was drawn from loaded data, and
// window.observatory = {context, view, frames}: the shared Context, the newest View, and how many times was drawn.

import { Overview } from "../../charts/overview/overview.js";
import { charts } from "../../tabs.js";
import { marks } from "../../tabs/marks.js";
import { backgrounds, followColorChoice } from "../../charts/drawing/color_choice.js";
import { LaneTiles } from "../../charts/task_stream/lanes/lane_tiles.js";
import { taskStream } from "../../charts/task_stream/task_stream.js";
import { TimeAxis } from "../../charts/time_axis/time_axis.js";
import { Address, tabOf } from "../../timeline/address.js";
import { colorsOn } from "../../timeline/colors/spacing.js";
import { loadContext } from "../../timeline/context.js";
import { COMMANDS } from "../../timeline/controls/commands.js";
import { attachPointer } from "../../timeline/controls/gestures.js";
import { Keys } from "../../timeline/controls/keys.js";
import { Live } from "../../timeline/sources/live.js";
import { fetchedHistory } from "../../timeline/sources/fetched_history.js";
import { sourceOf } from "../../timeline/sources/source.js";
import { createTransport } from "../../timeline/controls/transport.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { keptCharts } from "./arrangement.js";
import { Banners } from "./banners.js";
import { createHeader } from "./header.js";
import { buildLayout } from "./layout.js";
import { Panels } from "./panels.js";
import { PlayheadEdge } from "./playhead_edge.js";
import { createWriting } from "./writing.js";
import { createKeysDialog } from "./keys_dialog.js";
import { Tabs } from "./tabs.js";
import { followByAsking, followLive } from "./live.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/sources/source.js").Source} Source */

const ALL_CHARTS = [...new Set(Object.values(charts).flat())];
/** Its key is the site's, on all pages (pages/site/search_key.js). */
const SEARCH = { does: "search everything", keys: [["/"]] };
const RETRY = 3000; // ms
const STATUS_INTERVAL = 1000; // ms
// ms that the first and the second drawing wait for the first rows: empty charts would delay them
const [FIRST_AWAITED, SECOND_AWAITED] = [300, 1000];
const LONGEST_HELD = 3000; // ms after the page was opened

const main = document.getElementById("observatory");
if (main?.dataset.url) void open(main, sourceOf(main));

/**
 * @param {HTMLElement} main
 * @param {Source} source
 */
export async function open(main, source) {
  const layout = buildLayout(main);
  const tab = tabOf(location.search);
  layout.side.hidden = !charts[tab].some(({ place }) => place === "side"); // as it will be once the panels are there
  // while the first answers are on their way: what takes long and needs none of them
  const width = widthOf(layout.plots);
  colorsOn(backgrounds());
  fetchedHistory.addEventListener("change", () => {
    layout.loading.textContent = fetchedHistory.message || "Loading …";
  });
  for (;;) {
    const live = source.live === null ? null : new Live(source.live);
    try {
      if (main.dataset.hasEnded === undefined) live?.connect();
      const context = await loadContext(source, ALL_CHARTS);
      if (live) followLive(live, context); // before the first requests, some of which wait for the socket
      layout.loading.remove();
      const { chart } = main.dataset; // the only one, in frames of other sites
      const kept = chart ? () => [chart] : keptCharts;
      const address = new Address(context, optionsOf(context, ALL_CHARTS), kept);
      address.open();
      requestFirstRows(context, address, width);
      const panels = buildPanels(layout, context, address);
      await nextTask();
      const page = new Page(layout, context, address, panels, width, main.dataset.mayWrite !== undefined);
      await nextTask();
      page.start(live);
      return;
    } catch (error) {
      live?.close();
      layout.loading.textContent = `The timeline can't be loaded (${/** @type {Error} */ (error).message}); trying again.`;
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }
}

/**
 * @param {Context} context
 * @param {Chart[]} charts
 */
function optionsOf({ features }, charts) {
  const types = new Set(charts.flatMap(({ options }) => options ?? []));
  return [...types].map((type) => features.of(type));
}

/** Resolves in a task of its own: what takes long in one keeps the page from showing anything and from answering. */
function nextTask() {
  return new Promise((resolve) => setTimeout(resolve));
}

/**
 * Requests the rows of the task stream, which takes them over: building the panels takes as long as the answer.
 * @param {Context} context
 * @param {Address} address
 * @param {number} width of the plots in px
 */
function requestFirstRows(context, address, width) {
  const { timeline, tiles } = context;
  timeline.width = width;
  tiles.holdUntilDrawn();
  const { name } = taskStream;
  const shown = address.charts ?? charts[address.tab].map((chart) => chart.name);
  if (!shown.some((text) => text.split(":")[0] === name)) return;
  const { start, stop } = timeline;
  new LaneTiles(context).cover({ start, stop, width, tiles: {} }, [], false);
  tiles.sendDue();
}

/**
 * @param {ReturnType<typeof buildLayout>} layout
 * @param {Context} context
 * @param {Address} address
 */
function buildPanels(layout, context, address) {
  const { info, source } = context;
  const parts = [...info.parts, ...(source.notes ? ["notes"] : [])];
  /** @param {Chart[]} some */
  const shared = (some) => some.filter(({ part }) => !part || parts.includes(part));
  const tabs = new Tabs(address, () => panels.open());
  const ofTabs = {
    own: () => shared([...marks, ...charts[address.tab]]),
    all: () => shared(tabs.names.flatMap((name) => charts[name])),
  };
  const panels = new Panels(layout, ofTabs, context, address);
  return panels;
}

class Page {
  /** @type {View|null} */
  view = null;
  frames = 0;
  /** what has to be drawn again */
  #dirty = new Set(["window", "data", "overview"]);
  #time = performance.now();
  #opened = performance.now();
  #drewFirstRows = false; // the frame before did
  #isFollowing = false;
  /** @type {Live|null} of an ended cluster, which hardly ever sends anything: it is connected once the page is drawn */
  #unconnected = null;
  /** @type {View["state"]} */
  #shownState = null;
  #revision = 0;
  #isAsleep = false;
  #alarm = 0;

  /**
   * @param {ReturnType<typeof buildLayout>} layout
   * @param {Context} context
   * @param {Address} address
   * @param {Panels} panels
   * @param {number} width of the plots in px, for the first requests
   * @param {boolean} mayWrite whether the person may cut runs and write notes
   */
  constructor(layout, context, address, panels, width, mayWrite) {
    const { timeline } = context;
    this.layout = layout;
    this.context = context;
    this.address = address;
    this.panels = panels;
    panels.onChange = () => this.#mark("data");
    this.#cover(width); // before the rest is built
    followColorChoice((backgrounds, isExact) => context.model.setColors(backgrounds, isExact));
    this.overview = new Overview(layout.overview, this.context);
    this.axis = new TimeAxis(layout.axis);
    this.edge = new PlayheadEdge(layout.axis, timeline);
    this.transport = createTransport(layout.transport, this.context);
    this.header = createHeader(layout.header, this.context);
    this.banners = new Banners(layout.banners, this.context);
    const commands = [
      ...COMMANDS,
      ...new Set([...marks, ...ALL_CHARTS].flatMap((chart) => chart.commands ?? [])),
      { does: "these keys", keys: [["?"]], runs: [() => openKeys()] },
      ...(mayWrite ? createWriting(layout.header, this.context) : []),
      ...(document.querySelector(".site-search") ? [SEARCH] : []),
    ];
    const openKeys = createKeysDialog(layout.header, commands);
    this.keys = new Keys(this.context, commands);
  }

  /** @param {Live|null} live null: there is none */
  start(live) {
    const { timeline, tiles, selection, playheadState, events, model } = this.context;
    const { notes, alerts, freshness, info, lineage } = this.context;
    fetchedHistory.addEventListener("change", () => this.banners.draw());
    timeline.addEventListener("change", () => this.#mark("window"));
    tiles.addEventListener("change", () => this.#mark("tiles"));
    playheadState.addEventListener("change", () => this.#mark("state"));
    const others = /** @type {unknown[]} */ ([timeline, tiles, playheadState, notes, alerts]);
    for (const source of [...Object.values(this.context), ...Object.values(this.context.answers)]) {
      if (!(source instanceof EventTarget) || others.includes(source)) continue;
      source.addEventListener("change", () => this.#revise());
    }
    notes.addEventListener("change", () => events.setNotes(notes.list));
    for (const what of ["change", "select"]) alerts.addEventListener(what, () => this.#mark("data"));
    lineage.follow(timeline);
    for (const source of [model, selection, events, alerts, freshness])
      source.addEventListener("change", () => this.#mark("overview"));
    if (info.ended === null) window.setInterval(() => this.#mark("status"), STATUS_INTERVAL);
    selection.addEventListener("hover", () => this.#mark("hover"));
    for (const what of ["resize", "themechange"]) {
      window.addEventListener(what, () => {
        this.#revise();
        this.#mark("overview");
      });
    }
    const plot = () => ({ left: leftGutter(), width: widthOf(this.layout.plots) });
    for (const part of [this.layout.plots, this.layout.axis]) attachPointer(part, timeline, selection, plot);
    this.keys.attach(document, () => this.#wake());
    document.addEventListener("visibilitychange", () => (this.#time = performance.now())); // what a hidden tab missed isn't made up for
    this.#follow(live);
    /** @type {any} */ (window).observatory = this;
    // the browser lays out in one frame what was built, and the page draws in the next: both at once would take long
    requestAnimationFrame(() => requestAnimationFrame((now) => this.#frame(now)));
  }

  /** @param {Live|null} live */
  #follow(live) {
    const { info } = this.context;
    if (live) {
      live.listen();
      this.#unconnected = live.hasStarted ? null : live;
    } else if (info.ended === null || info.task_count === null) {
      followByAsking(this.context);
    }
  }

  /** @param {...("window"|"tiles"|"data"|"overview"|"panels"|"state"|"status"|"hover")} whats */
  #mark(...whats) {
    for (const what of whats) this.#dirty.add(what);
    this.#wake();
  }

  /** Marks what every chart may show. */
  #revise() {
    this.#revision += 1;
    this.#mark("data");
  }

  /** @param {number} now ms */
  #frame(now) {
    const elapsed = Math.max((now - this.#time) / 1000, 0);
    this.#time = now;
    if (this.keys.active) this.keys.advance(Math.min(elapsed, 0.1));
    const { timeline, tiles } = this.context;
    if (!this.#isHeld(timeline)) timeline.advance(elapsed, !tiles.isLoadingAt(timeline.playhead));
    const drewFirstRows = this.#drewFirstRows;
    this.#drewFirstRows = false;
    if (drewFirstRows) this.#requestOthers();
    if (this.panels.isPartial) {
      this.panels.goOn(); // before anything else is drawn
    } else if (!drewFirstRows && this.#dirty.size && !this.#awaitsRows()) {
      const dirty = this.#dirty;
      this.#dirty = new Set();
      try {
        this.#draw(dirty);
      } catch (error) {
        console.error("the page can't be drawn", error);
      }
      this.#drewFirstRows = tiles.hasBegun && !this.#isFollowing;
    }
    this.#schedule();
  }

  /** Schedules the next frame: at once, when the timeline moves by itself, or when something is marked. */
  #schedule() {
    const isDue = this.#dirty.size > 0 || this.#drewFirstRows || this.keys.active;
    const idle = isDue ? 0 : this.context.timeline.idleSeconds;
    if (idle === 0) {
      requestAnimationFrame((later) => this.#frame(later));
      return;
    }
    this.#isAsleep = true;
    if (idle < Infinity) this.#alarm = window.setTimeout(() => this.#wake(), idle * 1000);
  }

  #wake() {
    if (!this.#isAsleep) return;
    this.#isAsleep = false;
    window.clearTimeout(this.#alarm);
    this.#time = performance.now();
    requestAnimationFrame((now) => this.#frame(now));
  }

  /**
   * Whether a live window stands still, because the page opens: moved on, its rows would be painted again in each frame.
   * @param {Context["timeline"]} timeline
   */
  #isHeld({ live }) {
    return live && !document.documentElement.dataset.ready && performance.now() - this.#opened < LONGEST_HELD;
  }

  /** Whether drawing has to wait for the first rows, which are on their way. */
  #awaitsRows() {
    const awaited = this.frames > 0 ? SECOND_AWAITED : FIRST_AWAITED;
    return !this.context.tiles.hasBegun && performance.now() - this.#opened < awaited;
  }

  /** Requests everything but the first rows. */
  #requestOthers() {
    this.context.tiles.drawn();
    this.#request();
  }

  /** Requests what is shown beside the tiles. */
  #request() {
    const { timeline, playheadState, notes, alerts } = this.context;
    playheadState.request(timeline.playhead, timeline);
    playheadState.sendDue();
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    notes.follow();
    alerts.follow();
  }

  /** @param {Set<string>} dirty what changed since the frame before */
  #draw(dirty) {
    const began = performance.now();
    const { dataset } = document.documentElement;
    const { playheadState, selection } = this.context;
    if (!this.view || dirty.has("window") || dirty.has("tiles") || dirty.has("data")) {
      const width = widthOf(this.layout.plots);
      if (!this.frames) this.overview.cover(width); // before the others: its few tiles tell most
      if (this.#isFollowing) this.#request(); // before the tiles: the state takes the server longest
      this.view = this.#cover(width);
      if (this.frames) this.overview.draw(width, dirty.has("overview"), dirty.has("tiles"));
      else this.#mark("data", "overview"); // in the next drawing, after the first rows
    }
    this.transport();
    this.header();
    this.banners.draw();
    const { state, isCurrent } = playheadState;
    const isStateNew = this.context.model.isLarge && this.#isFollowing && state !== this.#shownState;
    this.#shownState = state;
    this.view = { ...this.view, hover: selection.hover, state, isStateCurrent: isCurrent };
    this.axis.draw(this.view, selection.hover, this.edge.draw());
    this.overview.point(selection.hover);
    const isRest = dirty.size === 1 && dirty.has("panels");
    const isWhole = this.panels.draw(this.view, { began, isOpening: !dataset.ready, isRest, isStateNew });
    if (!isWhole) this.#mark("panels");
    this.layout.drawLines(this.view, leftGutter());
    this.frames += 1;
    if (!dataset.ready && isWhole && this.context.tiles.settled && this.frames > 1) {
      dataset.ready = "1";
      this.#unconnected?.connect();
    }
  }

  /**
   * Requests the tiles that the window lacks.
   * @param {number} width of the plots in px
   */
  #cover(width) {
    const view = this.#makeView(width);
    this.panels.cover(view);
    this.context.tiles.sendDue();
    return view;
  }

  /**
   * @param {number} width of the plots in px
   * @returns {View}
   */
  #makeView(width) {
    const { timeline, tiles, selection, playheadState } = this.context;
    timeline.width = width;
    const { start, stop, playhead, live } = timeline;
    /** @type {View["tiles"]} */
    const found = {};
    /** @type {View["unloaded"]} */
    const unloaded = {};
    for (const layer of this.panels.layers()) {
      found[layer] = tiles.cover("page", layer, start, stop, width);
      unloaded[layer] = tiles.unloaded("page", layer);
    }
    const { state, isCurrent } = playheadState;
    const pointed = { hover: selection.hover, state, isStateCurrent: isCurrent };
    return {
      start,
      stop,
      playhead,
      live,
      width,
      revision: this.#revision,
      tiles: found,
      unloaded,
      ...pointed,
    };
  }
}

/**
 * The width of charts, in px.
 * @param {HTMLElement} plots
 */
function widthOf(plots) {
  return Math.max(plots.clientWidth - leftGutter() - RIGHT_GUTTER, 50);
}
