// Opens the page of one cluster: one timeline, and every chart drawn from (window, playhead).

import { backgrounds } from "../../charts/drawing/color_choice.js";
import { LaneTiles } from "../../charts/task_stream/lanes/lane_tiles.js";
import { taskStream } from "../../charts/task_stream/task_stream.js";
import { charts } from "../../tabs.js";
import { marks } from "../../tabs/marks.js";
import { Address, tabOf } from "../../timeline/address.js";
import { colorsOn } from "../../timeline/colors/spacing.js";
import { loadContext } from "../../timeline/context.js";
import { fetchedHistory } from "../../timeline/sources/fetched_history.js";
import { Live } from "../../timeline/sources/live.js";
import { sourceOf } from "../../timeline/sources/source.js";
import { keptCharts } from "./arrangement.js";
import { buildLayout, widthOf } from "./layout.js";
import { followLive } from "./live.js";
import { Page } from "./page.js";
import { Panels } from "./panels.js";
import { Tabs } from "./tabs.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../timeline/sources/source.js").Source} Source */
/** @typedef {import("./layout.js").Layout} Layout */

const ALL_CHARTS = [...new Set(Object.values(charts).flat())];
const RETRY = 3000; // ms

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
 * @param {Layout} layout
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
