// A chart as a PNG picture: its title and window, the canvas, the clock times below it, and its legend.

import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { formatDate, zoneName } from "../../timeline/times.js";
import { theme } from "../drawing/theme.js";
import { clockTicks } from "../time_axis/ticks.js";

/** @typedef {import("../../types.js").View} View */
/** @typedef {{text: string, color: string}} Entry */

const FONT = "12px system-ui, sans-serif";
const [LINE, SWATCH, MARGIN, RATIO] = [20, 10, 10, 2];

/**
 * @param {HTMLElement} panel of the chart
 * @returns {HTMLCanvasElement[]} its canvases that can be seen
 */
export function canvasesOf(panel) {
  return [...panel.querySelectorAll("canvas")].filter(
    (canvas) => canvas.width > 0 && canvas.offsetHeight > 0,
  );
}

/**
 * @param {HTMLElement} panel
 * @param {string} title
 * @param {View} view
 * @param {boolean} hasTimeAxis whether the canvas shares the time axis
 * @returns {Promise<Blob>}
 */
export async function pictureOf(panel, title, view, hasTimeAxis) {
  const canvases = canvasesOf(panel);
  const width = Math.max(...canvases.map((canvas) => canvas.offsetWidth)) + 2 * MARGIN;
  const drawing = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  drawing.font = FONT;
  const legend = arranged(drawing, legendOf(panel), width - 2 * MARGIN);
  const plots = canvases.reduce((sum, canvas) => sum + canvas.offsetHeight, 0);
  const height = LINE * (1 + legend.length + (hasTimeAxis ? 1 : 0)) + plots + 2 * MARGIN;
  drawing.canvas.width = Math.round(width * RATIO);
  drawing.canvas.height = Math.round(height * RATIO);
  drawing.scale(RATIO, RATIO);
  const colors = theme();
  drawing.fillStyle = colors.plot;
  drawing.fillRect(0, 0, width, height);
  drawing.font = FONT;
  drawing.textBaseline = "middle";
  drawing.fillStyle = colors.text;
  const window = `${formatDate(view.start)} – ${formatDate(view.stop)} ${zoneName()}`;
  drawing.fillText(`${title} · ${window}`, MARGIN, MARGIN + LINE / 2, width - 2 * MARGIN);
  let top = MARGIN + LINE;
  for (const canvas of canvases) {
    drawing.drawImage(canvas, MARGIN, top, canvas.offsetWidth, canvas.offsetHeight);
    top += canvas.offsetHeight;
  }
  if (hasTimeAxis) {
    drawTimes(drawing, view, top + LINE / 2);
    top += LINE;
  }
  drawLegend(drawing, legend, top);
  return new Promise((resolve, reject) => {
    drawing.canvas.toBlob(
      (blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))),
      "image/png",
    );
  });
}

/**
 * @param {HTMLElement} panel
 * @returns {Entry[]}
 */
function legendOf(panel) {
  return [...panel.querySelectorAll(".legend li")].flatMap((item) => {
    const swatch = item.querySelector("i");
    const text = item.textContent?.trim() ?? "";
    return swatch && text ? [{ text, color: colorOf(getComputedStyle(swatch)) }] : [];
  });
}

/** @param {CSSStyleDeclaration} style of a swatch; of a striped one the first colour of its stripes */
function colorOf({ backgroundColor, backgroundImage }) {
  const striped = /rgba?\([^)]*[1-9][^)]*\)/.exec(backgroundImage);
  return backgroundColor === "rgba(0, 0, 0, 0)" && striped ? striped[0] : backgroundColor;
}

/**
 * @param {CanvasRenderingContext2D} drawing
 * @param {Entry[]} entries
 * @param {number} room px
 * @returns {(Entry & {x: number})[][]} by line
 */
function arranged(drawing, entries, room) {
  /** @type {(Entry & {x: number})[][]} */
  const lines = [];
  let x = Infinity;
  for (const entry of entries) {
    const width = SWATCH + 4 + drawing.measureText(entry.text).width + 14;
    if (x + width > room) {
      lines.push([]);
      x = 0;
    }
    lines[lines.length - 1].push({ ...entry, x });
    x += width;
  }
  return lines;
}

/**
 * @param {CanvasRenderingContext2D} drawing
 * @param {View} view
 * @param {number} middle px
 */
function drawTimes(drawing, view, middle) {
  drawing.fillStyle = theme().muted;
  drawing.textAlign = "center";
  for (const { time, text } of clockTicks(view.start, view.stop, view.width)) {
    const x = MARGIN + leftGutter() + ((time - view.start) / (view.stop - view.start)) * view.width;
    if (x < MARGIN + leftGutter() + view.width + RIGHT_GUTTER) drawing.fillText(text, x, middle);
  }
  drawing.textAlign = "start";
}

/**
 * @param {CanvasRenderingContext2D} drawing
 * @param {(Entry & {x: number})[][]} lines
 * @param {number} top px
 */
function drawLegend(drawing, lines, top) {
  for (const [number, line] of lines.entries()) {
    const middle = top + (number + 0.5) * LINE;
    for (const { text, color, x } of line) {
      drawing.fillStyle = color;
      drawing.fillRect(MARGIN + x, middle - SWATCH / 2, SWATCH, SWATCH);
      drawing.fillStyle = theme().text;
      drawing.fillText(text, MARGIN + x + SWATCH + 4, middle);
    }
  }
}
