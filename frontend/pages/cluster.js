// The page of one cluster: one timeline, and every chart drawn from (window, playhead).
//
// For browser tests: <html data-ready="1"> once everything in sight was drawn from loaded data, and
// window.observatory = {context, view, frames}: the shared Context, the newest View, and how many times was drawn.

import { Overview } from "../charts/overview.js";
import { charts } from "../charts/registry.js";
import { Address } from "../timeline/address.js";
import { Arrangement } from "../timeline/arrangement.js";
import { Events } from "../timeline/events.js";
import { Keys, attachPointer } from "../timeline/gestures.js";
import { Instant } from "../timeline/instant.js";
import { Live } from "../timeline/live.js";
import { Model } from "../timeline/model.js";
import { Selection } from "../timeline/selection.js";
import { Stacks } from "../timeline/stacks.js";
import { Tiles } from "../timeline/tiles.js";
import { Timeline } from "../timeline/timeline.js";
import { createTransport } from "../timeline/transport.js";
import { RIGHT_GUTTER, leftGutter } from "../types.js";
import { Banners } from "./cluster_banners.js";
import { createHeader } from "./cluster_header.js";
import { buildLayout } from "./cluster_layout.js";
import { Panels } from "./cluster_panels.js";
import { createKeysDialog } from "./keys_dialog.js";
import { followLive } from "./cluster_live.js";

/** @typedef {import("../types.js").ClusterInfo} ClusterInfo */
/** @typedef {import("../types.js").Context} Context */
/** @typedef {import("../types.js").View} View */

const RETRY = 3000; // ms

const main = /** @type {HTMLElement} */ (document.getElementById("observatory"));
void open(main, Number(main.dataset.cluster));

/**
 * @param {HTMLElement} main
 * @param {number} id of the cluster
 */
async function open(main, id) {
  const url = `/api/v1/clusters/${id}`;
  const layout = buildLayout(main);
  for (;;) {
    try {
      const [info, lanes] = await Promise.all([getJson(url), getJson(`${url}/lanes`)]);
      layout.loading.remove();
      new Page(layout, url, info, lanes).start();
      return;
    } catch (error) {
      layout.loading.textContent = `The cluster can't be loaded (${/** @type {Error} */ (error).message}); trying again.`;
      await new Promise((resolve) => setTimeout(resolve, RETRY));
    }
  }
}

/**
 * @param {string} url
 * @returns {Promise<any>}
 */
async function getJson(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.json();
}

class Page {
  /** @type {View|null} */
  view = null;
  frames = 0;
  /** what has to be drawn again */
  #dirty = { window: true, data: true, hover: false };
  #time = performance.now();

  /**
   * @param {ReturnType<typeof buildLayout>} layout
   * @param {string} url
   * @param {ClusterInfo} info
   * @param {any} lanes what /lanes answered
   */
  constructor(layout, url, info, lanes) {
    const model = new Model(info.band);
    model.load(lanes);
    const timeline = new Timeline(info);
    this.layout = layout;
    /** @type {Context} */
    this.context = {
      info,
      model,
      timeline,
      tiles: new Tiles(`${url}/tiles`, info),
      selection: new Selection(),
      instant: new Instant(`${url}/state`),
      events: new Events(),
      arrangement: new Arrangement(),
      stacks: new Stacks(`${url}/stacks`),
    };
    this.url = url;
    this.address = new Address(timeline, this.context.selection, this.context.arrangement);
    this.address.open();
    this.overview = new Overview(layout.overview, this.context);
    this.transport = createTransport(layout.transport, this.context);
    this.header = createHeader(layout.header, this.context);
    this.banners = new Banners(layout.banners, this.context);
    this.panels = new Panels(layout, charts, this.context, this.address, () => this.#mark("data"));
    const dialog = createKeysDialog(layout.header);
    this.keys = new Keys(timeline, this.context.events, this.context.selection, () => dialog.showModal());
  }

  start() {
    const { timeline, tiles, model, selection, instant, events, arrangement, stacks } = this.context;
    timeline.addEventListener("change", () => this.#mark("window"));
    for (const source of [tiles, model, selection, instant, events, arrangement, stacks]) {
      source.addEventListener("change", () => this.#mark("data"));
    }
    selection.addEventListener("hover", () => this.#mark("hover"));
    window.addEventListener("resize", () => this.#mark("data"));
    window.addEventListener("themechange", () => this.#mark("data"));
    attachPointer(this.layout.plots, timeline, selection, () => ({ left: leftGutter(), width: this.#width }));
    this.keys.attach(document);
    const live = new Live(`${location.origin.replace(/^http/, "ws")}/ws/clusters/${this.context.info.id}/live`);
    followLive(live, this.url, this.context, this.banners, getJson);
    live.connect();
    /** @type {any} */ (window).observatory = this;
    requestAnimationFrame((now) => this.#frame(now));
  }

  get #width() {
    return Math.max(this.layout.plots.clientWidth - leftGutter() - RIGHT_GUTTER, 50);
  }

  /** @param {"window"|"data"|"hover"} what */
  #mark(what) {
    this.#dirty[what] = true;
  }

  /** @param {number} now ms */
  #frame(now) {
    const elapsed = Math.max((now - this.#time) / 1000, 0);
    this.#time = now;
    if (this.keys.active) this.keys.advance(Math.min(elapsed, 0.1));
    this.context.timeline.advance(elapsed);
    const { window: moved, data, hover } = this.#dirty;
    if (moved || data || hover) {
      this.#dirty = { window: false, data: false, hover: false };
      try {
        this.#draw(moved || data, data || this.context.timeline.live);
      } catch (error) {
        console.error("the page can't be drawn", error);
      }
    }
    requestAnimationFrame((later) => this.#frame(later));
  }

  /**
   * @param {boolean} whole false: only the mouse moved
   * @param {boolean} overview whether the overview shows something else than before
   */
  #draw(whole, overview) {
    if (whole || !this.view) {
      this.overview.draw(this.#width, overview || this.frames === 0); // first: its few tiles tell most
      this.view = this.#makeView();
      this.transport();
      this.header();
      this.banners.draw();
      this.context.instant.request(this.context.timeline.playhead, this.context.timeline);
    }
    this.view = { ...this.view, hover: this.context.selection.hover };
    this.panels.draw(this.view);
    this.layout.drawLines(this.view, leftGutter());
    this.frames += 1;
    if (!this.context.tiles.loading && this.frames > 1) document.documentElement.dataset.ready = "1";
  }

  /** @returns {View} */
  #makeView() {
    const { timeline, tiles, selection, instant } = this.context;
    const width = this.#width;
    timeline.width = width;
    const { start, stop, playhead, live } = timeline;
    /** @type {View["tiles"]} */
    const found = {};
    for (const layer of this.panels.layers()) found[layer] = tiles.cover("page", layer, start, stop, width);
    return { start, stop, playhead, live, width, hover: selection.hover, tiles: found, state: instant.state };
  }
}
