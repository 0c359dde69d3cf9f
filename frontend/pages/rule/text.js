// A rule in plain words, as its fields are now.

/** @typedef {import("./condition.js").ConditionFields} ConditionFields */

/**
 * @param {ConditionFields[]} conditions those that are written
 * @param {string} severity
 * @param {string} hold "5 min", or ""
 * @returns {string}
 */
export function ruleInWords(conditions, severity, hold) {
  if (!conditions.length) return "";
  const [first, ...others] = conditions.map((condition) => (condition.isEvent ? event(condition) : metric(condition)));
  const each = { worker: "each worker", cluster: "the cluster", series: "each series" };
  const of = each[/** @type {keyof typeof each} */ (conditions[0].value("by"))] ?? "";
  const both = others.map((other) => `, and ${other}`).join("");
  const lasting = hold && hold !== "0" ? ` for ${hold}` : "";
  return `An alert (${severity}) for ${of} when ${first}${both}${lasting}.`;
}

/** @param {ConditionFields} condition */
function metric(condition) {
  const labels = condition.value("labels");
  let said = condition.value("metric") + (labels ? ` where ${labels}` : "");
  const windowed = condition.value("function");
  if (windowed === "rate") said = `the rate per second of ${said} over ${condition.value("window_seconds")}`;
  if (windowed === "change") said = `the change of ${said} over ${condition.value("window_seconds")}`;
  if (condition.value("by") !== "series") {
    const quantile = condition.value("aggregate") === "quantile" ? ` (${condition.value("quantile")})` : "";
    said = `the ${condition.words("aggregate")}${quantile} of ${said}`;
  }
  const divisor = condition.value("divisor");
  if (divisor === "attribute") said += `, divided by the worker's ${condition.words("divisor_attribute")}`;
  if (divisor === "metric") said += `, divided by ${condition.value("divisor_metric")}`;
  const clears = condition.value("clear_threshold");
  const threshold = condition.value("threshold") || "…";
  return `${said} is ${condition.words("comparison")} ${threshold}${clears ? ` (until it is back at ${clears})` : ""}`;
}

/** @param {ConditionFields} condition */
function event(condition) {
  const pattern = condition.value("pattern");
  const count = Number(condition.value("count"));
  const matching = pattern ? ` with a message that matches “${pattern}”` : "";
  const often = count > 1 ? `, ${count} times or more within ${condition.value("window_seconds")}` : "";
  return `${condition.words("event")}${matching}${often}`;
}
