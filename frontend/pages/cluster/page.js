// The page once its context is loaded: draws what changed, frame by frame.
//
// For browser tests: <html data-ready="1"> once everything in sight was drawn from loaded data, and
// window.observatory = {context, view, frames}: the shared Context, the newest View, and how many times was drawn.

import { followColorChoice } from "../../charts/drawing/color_choice.js";
import { Overview } from "../../charts/overview/overview.js";
import { TimeAxis } from "../../charts/time_axis/time_axis.js";
import { charts } from "../../tabs.js";
import { marks } from "../../tabs/marks.js";
import { COMMANDS } from "../../timeline/controls/commands.js";
import { attachPointer } from "../../timeline/controls/gestures.js";
import { Keys } from "../../timeline/controls/keys.js";
import { createTransport } from "../../timeline/controls/transport.js";
import { fetchedHistory } from "../../timeline/sources/fetched_history.js";
import { leftGutter } from "../../types.js";
import { Banners } from "./banners.js";
import { createHeader } from "./header.js";
import { createKeysDialog } from "./keys_dialog.js";
import { widthOf } from "./layout.js";
import { followByAsking } from "./live.js";
import { PlayheadEdge } from "./playhead_edge.js";
import { createWriting } from "./writing.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/address.js").Address} Address */
/** @typedef {import("../../timeline/sources/live.js").Live} Live */
/** @typedef {import("./layout.js").Layout} Layout */
/** @typedef {import("./panels.js").Panels} Panels */

/** Its key is the site's, on all pages (pages/site/search_key.js). */
const SEARCH = { does: "search everything", keys: [["/"]] };
const STATUS_INTERVAL = 1000; // ms
// ms that the first and the second drawing wait for the first rows: empty charts would delay them
const [FIRST_AWAITED, SECOND_AWAITED] = [300, 1000];
const LONGEST_HELD = 3000; // ms after the page was opened

export class Page {
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
   * @param {Layout} layout
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
      ...new Set([...marks, ...Object.values(charts).flat()].flatMap((chart) => chart.commands ?? [])),
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
