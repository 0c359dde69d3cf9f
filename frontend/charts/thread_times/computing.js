// What computing consisted of: waits for the GIL, and the functions in which the profile saw tasks.

import { element } from "../../element.js";
import { formatCount, formatDuration, formatPercent } from "../../formatting.js";
import { prefixCell } from "../data_table/prefix_cell.js";

/** @typedef {import("../../types.js").Schemas["ComputingTime"]} ComputingTime */
/** @typedef {import("../../timeline/model.js").Model} Model */

/** @param {ComputingTime} computing; one sentence for the GIL, and one for the profile */
export function computingText({ seconds, gil, has_code, samples, functions }) {
  if (!seconds) return "";
  const waited =
    gil === null
      ? "Waits for the GIL were not sampled (they need the agent, and gilknocker on the workers)."
      : `About ${formatDuration(gil)} (${formatPercent(gil / seconds)}) of computing waited for the GIL.`;
  if (!has_code) return `${waited} The functions are not shared with this link.`;
  return functions.length ? `${waited} Functions in ${formatCount(samples)} samples of the profile:` : waited;
}

/**
 * @param {ComputingTime} computing
 * @param {Model} model
 */
export function computingPart(computing, model) {
  const text = computingText(computing);
  if (!text) return [];
  const rows = computing.functions.map(({ name, file, line, prefix, share }) =>
    element(
      "li",
      "",
      element("span", "function-share", formatPercent(share)),
      element("span", "function-name", name),
      prefix === null ? "" : prefixCell(model.prefixName(prefix), prefix, model),
      element("span", "function-place muted", `${file}:${line}`),
    ),
  );
  const list = element("ul", "computing-functions", ...rows);
  list.setAttribute("aria-label", "functions that computed");
  return [element("p", "chart-note", text), ...(rows.length ? [list] : [])];
}
