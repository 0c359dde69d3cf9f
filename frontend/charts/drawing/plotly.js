// Plotly.js, from the `plotly` wheel. It is large, so it is fetched when the first chart needs it.

import { theme } from "./theme.js";

/**
 * @typedef {{react: (element: HTMLElement, traces: object[], layout: object, config: object) => Promise<void>,
 *   purge: (element: HTMLElement) => void}} Plotly
 */

const SOURCE = new URL("../../../vendor/plotly.min.js", import.meta.url).href;

/** @type {Promise<Plotly>|null} */
let loading = null;

/** @returns {Promise<Plotly>} rejects when it can't be fetched */
export function loadPlotly() {
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

/** A placeholder with the id of the style element that Plotly adds for maps, which we don't draw: Plotly skips it. */
function mapStyle() {
  const placeholder = document.createElement("template");
  placeholder.id = "9f215cf04c5486422605d13261cb87401f4e7763b6296af81e98efbc0130da53";
  return placeholder;
}

export const config = { displayModeBar: false, responsive: false, doubleClick: false };

/**
 * The layout that all Plotly charts share.
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
