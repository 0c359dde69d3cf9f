// Draws alerts as bands: light while pending, in the colour of their severity while firing.

import { bySeverity } from "../../timeline/marks/alerts.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("../../timeline/marks/alerts.js").Alert} Alert */
/** @typedef {import("../../timeline/marks/alerts.js").Alerts} Alerts */
/** @typedef {import("../../timeline/marks/alerts.js").Severity} Severity */

const NARROWEST = 3; // px
const PENDING = 0.35; // opacity

/** @param {Severity} severity */
export function colorOf(severity) {
  const colors = theme();
  return { info: colors.accent, warning: colors.warning, critical: colors.danger }[severity];
}

/**
 * More severe alerts are drawn over others.
 * @param {CanvasRenderingContext2D} context
 * @param {Alerts} alerts
 * @param {Alert[]} drawn
 * @param {(time: number) => number} x
 * @param {[number, number]} range of x that is drawn
 * @param {number} top
 * @param {number} height
 */
export function drawBands(context, alerts, drawn, x, range, top, height) {
  for (const alert of [...drawn].sort(bySeverity)) {
    const end = alerts.endOf(alert);
    context.fillStyle = colorOf(alert.severity);
    context.globalAlpha = PENDING;
    fill(context, x(alert.pending), x(alert.fired ?? end), range, top, height);
    context.globalAlpha = 1;
    if (alert.fired !== null)
      fill(context, x(alert.fired), Math.max(x(end), x(alert.fired) + NARROWEST), range, top, height);
  }
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {number} from
 * @param {number} to
 * @param {[number, number]} range
 * @param {number} top
 * @param {number} height
 */
function fill(context, from, to, [least, most], top, height) {
  const [left, right] = [Math.max(from, least), Math.min(to, most)];
  if (right > left) context.fillRect(left, top, right - left, height);
}
