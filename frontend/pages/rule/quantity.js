// The choice of a known quantity in a condition: it fills in the other fields. Changing what is measured leaves it.

/** @typedef {import("./condition.js").ConditionFields} ConditionFields */
/** @typedef {Record<string, string>} Fields the texts of a condition's fields, and hold_seconds of the rule */

// the same as LIMITS in observatory/alerts/admin/quantity_choice.py
const LIMITS = [
  "comparison",
  "threshold",
  "clear_threshold",
  "count",
  "window_seconds",
  "run_name",
  "earlier_runs",
  "fewest_runs",
];

/** @returns {Record<string, Fields>} by key, as the page has them */
export function quantityFields() {
  return JSON.parse(document.getElementById("quantity-fields")?.textContent ?? "{}");
}

/**
 * True if the fields are those of the quantity, whatever the limits are.
 * @param {Fields|undefined} fields
 * @param {(name: string) => string} value the value of a field
 */
export function measures(fields, value) {
  if (!fields) return false;
  return Object.entries(fields).every(
    ([name, text]) => name === "hold_seconds" || LIMITS.includes(name) || value(name) === text,
  );
}
