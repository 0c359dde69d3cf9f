// Marks of findings: buttons that mark one as known or wrong in all runs of the name, and undo it.

import { element } from "../../element.js";
import { send } from "../../sending.js";
import { formatDate } from "../../timeline/times.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["FindingItem"]} Finding */
/** @typedef {NonNullable<Finding["mark"]>} Mark */

/** @param {Mark} mark; public links don't say who it was */
export function markText({ marked_as, by, created }) {
  return `Marked as ${marked_as}${by ? ` by ${by}` : ""}, ${formatDate(created)}.`;
}

/**
 * Whether it is marked, and the buttons of those who may change the run; null: there is neither.
 * @param {Context} context
 * @param {Finding} finding
 * @param {() => void} changed is called after a change
 * @returns {HTMLElement|null}
 */
export function markLine({ source }, finding, changed) {
  const { mark } = finding;
  const line = element("p", "finding-mark", mark ? `${markText(mark)} ` : "");
  if (source.api && source.run) {
    const refusal = element("span", "danger");
    refusal.setAttribute("role", "alert");
    line.append(...buttons(source.api, source.run, finding, changed, refusal), refusal);
  }
  return line.childNodes.length ? line : null;
}

/**
 * @param {string} api
 * @param {number} run
 * @param {Finding} finding
 * @param {() => void} changed
 * @param {HTMLElement} refusal
 */
function buttons(api, run, { kind, prefixes, mark }, changed, refusal) {
  /** @param {string} text @param {string} title @param {() => Promise<unknown>} change */
  const button = (text, title, change) => {
    const made = element("button", "", text);
    made.type = "button";
    made.title = title;
    made.addEventListener("click", async () => {
      made.disabled = true;
      try {
        await change();
        changed();
      } catch (error) {
        made.disabled = false;
        refusal.textContent = ` ${error instanceof Error ? error.message : error}`;
      }
    });
    return made;
  };
  if (mark?.id)
    return [
      button("Undo", "Shows this finding again in all runs of this name", () =>
        send("DELETE", `${api}/finding-marks/${mark.id}`),
      ),
    ];
  /** @param {"known"|"wrong"} marked_as */
  const post = (marked_as) => send("POST", `${api}/runs/${run}/finding-marks`, { kind, prefixes, marked_as });
  return [
    button("Known", "Folds this finding in all runs of this name: it is known", () => post("known")),
    " ",
    button("Wrong", "Folds this finding in all runs of this name: it isn't right", () => post("wrong")),
  ];
}
