// Warnings about the rule on the page, above its form. They come with each back-test.

import { element, showsAlready } from "../../element.js";

/**
 * RuleWarning in observatory/alerts/rules/rule_warnings.py, with the prefix of its condition's fields.
 * @typedef {{prefix: string, field: string, message: string, fixes: string[], is_note: boolean}} Warning
 */

/**
 * Shows warnings with a button for each fix, which writes it into the field.
 * @param {HTMLElement} place
 * @param {Warning[]} warnings
 * @param {(warning: Warning, fix: string) => void} mend
 */
export function showWarnings(place, warnings, mend) {
  if (showsAlready(place, warnings)) return;
  place.hidden = warnings.length === 0;
  place.replaceChildren(
    ...warnings.map((warning) => {
      const fixes = warning.fixes.map((fix) => {
        const button = element("button", "rule-fix", fix);
        button.type = "button";
        button.addEventListener("click", () => mend(warning, fix));
        return button;
      });
      return element("p", warning.is_note ? "rule-note" : "rule-warning", `${warning.message} `, ...fixes);
    }),
  );
}
