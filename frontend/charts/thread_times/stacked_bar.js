// A bar that is divided by what threads did and waited for.

import { element } from "../../element.js";
import { formatDuration, formatPercent } from "../../formatting.js";
import { kindColor } from "./kinds.js";

/** @param {import("./rows.js").Part[]} parts */
export function stackedBar(parts) {
  const pieces = parts.map(({ kind, title, seconds, share }) => {
    const piece = element("i", "time-piece");
    piece.style.width = `${(100 * share).toFixed(3)}%`;
    piece.style.backgroundColor = kindColor(kind);
    piece.title = `${title}: ${formatDuration(seconds)} (${formatPercent(share)})`;
    return piece;
  });
  const bar = element("span", "time-bar", ...pieces);
  bar.setAttribute("role", "img");
  bar.setAttribute(
    "aria-label",
    parts.map(({ title, share }) => `${title} ${formatPercent(share)}`).join(", "),
  );
  return bar;
}
