// The layout of the page: header, the strip with the card that the server rendered for a run, overview, transport, time axis, timeline charts, side column, and charts above and below.

import { element } from "../../element.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { keepOpen } from "./kept_open.js";

/** @typedef {import("../../types.js").View} View */
/** @typedef {ReturnType<typeof buildLayout>} Layout */

/** @param {HTMLElement} main */
export function buildLayout(main) {
  const header = element("div", "cluster-header");
  const banners = element("div", "cluster-banners");
  banners.setAttribute("role", "status");
  const overview = element("div", "overview");
  const transport = element("div", "transport");
  const axis = element("div", "time-axis");
  const top = element("div", "cluster-top", overview, transport, axis);
  const plots = element("div", "plots");
  const side = element("aside", "side");
  side.setAttribute("aria-label", "At the playhead");
  const loading = element("p", "cluster-loading", "Loading …");
  loading.setAttribute("role", "status");
  const columns = element("div", "cluster-columns", plots, side);
  const playhead = element("div", "line-playhead");
  const hover = element("div", "line-hover");
  plots.append(playhead, hover);
  const above = element("div", "above");
  const below = element("div", "below");
  const strips = /** @type {NodeListOf<HTMLDetailsElement>} */ (main.querySelectorAll(":scope > .run-strip"));
  strips.forEach(keepOpen);
  main.replaceChildren(loading, header, ...strips, banners, top, above, columns, below);

  /**
   * Draws the playhead and the instant under the mouse over all charts of the timeline.
   * @param {View} view
   * @param {number} left where the plots begin, in px
   */
  function drawLines(view, left) {
    for (const [line, time] of /** @type {[HTMLElement, number|null][]} */ ([
      [playhead, view.playhead],
      [hover, view.hover],
    ])) {
      const share = time === null ? -1 : (time - view.start) / (view.stop - view.start);
      line.hidden = !(share >= 0 && share <= 1);
      line.style.transform = `translateX(${Math.round(left + share * view.width)}px)`;
    }
  }

  return { header, banners, overview, transport, axis, plots, side, above, below, loading, drawLines };
}

/**
 * The width of charts, in px.
 * @param {HTMLElement} plots
 */
export function widthOf(plots) {
  return Math.max(plots.clientWidth - leftGutter() - RIGHT_GUTTER, 50);
}
