// Plotly.js, from the `plotly` wheel. It is large: it is fetched when the timeline has been drawn, and never waited for.

import { theme } from "./theme.js";

/**
 * @typedef {{react: (element: HTMLElement, traces: object[], layout: object, config: object) => Promise<void>,
 *   purge: (element: HTMLElement) => void}} Plotly
 */

const SOURCE = new URL("../../../vendor/plotly.min.js", import.meta.url).href;

/** @type {Promise<Plotly>|null} */
let loading = null;

/** @returns {Promise<Plotly>} rejects when it can't be fetched, and on a page that is a file of its own */
export function loadPlotly() {
  if (document.documentElement.dataset.alone !== undefined) {
    return Promise.reject(new Error("Plotly isn't part of this file: lists stand in place of its charts"));
  }
  loading ??= new Promise((resolve, reject) => {
    document.head.append(mapStyle());
    const script = document.createElement("script");
    script.src = SOURCE;
    script.onload = () => resolve(/** @type {any} */ (window).Plotly);
    script.onerror = () => reject(new Error("Plotly can't be loaded"));
    document.head.append(script);
  });
  return loading;
}

/** Stands where Plotly would put the style of its maps, which we don't draw and the page's policy forbids. */
function mapStyle() {
  const placeholder = document.createElement("template");
  placeholder.id = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";
  return placeholder;
}

export const config = { displayModeBar: false, responsive: false, doubleClick: false };

/**
 * What all our Plotly charts share.
 * @param {number} width
 * @param {number} height
 * @param {object} more
 */
export function layoutOf(width, height, more) {
  const colors = theme();
  return {
    width,
    height,
    paper_bgcolor: "transparent",
    plot_bgcolor: "transparent",
    font: { size: 11, color: colors.text, family: "system-ui, sans-serif" },
    dragmode: false,
    hoverlabel: { bgcolor: colors.surface, bordercolor: colors.border, font: { color: colors.text } },
    ...more,
  };
}

/** Text that Plotly must not take for its own markup. @param {string} text */
export function plain(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
