// Describes a rule in plain words, from the current fields.

/** @typedef {import("./condition.js").ConditionFields} ConditionFields */

/**
 * @param {ConditionFields[]} conditions the filled-in ones
 * @param {string} severity
 * @param {string} hold "5 min", or ""
 * @returns {string}
 */
export function ruleInWords(conditions, severity, hold) {
  if (!conditions.length) return "";
  const [first, ...others] = conditions.map(inWords);
  const each = {
    run: "each name of runs",
    worker: "each worker",
    cluster: "the cluster",
    series: "each series",
  };
  const by = conditions[0].isRun ? "run" : conditions[0].value("by");
  const of = each[/** @type {keyof typeof each} */ (by)] ?? "";
  const more = others.map((other) => `, and ${other}`).join("");
  const duration = hold && hold !== "0" ? ` for ${hold}` : "";
  return `An alert (${severity}) for ${of} when ${first}${more}${duration}.`;
}

/** @param {ConditionFields} condition */
function inWords(condition) {
  if (condition.isRun) return run(condition);
  return condition.isEvent ? event(condition) : metric(condition);
}

/** @param {ConditionFields} condition */
function run(condition) {
  const name = condition.value("run_name");
  const [what, earlier] = [condition.words("measure"), condition.value("earlier_runs")];
  const runs = name ? `a run named “${name}”` : "a run";
  if (!condition.isCompared)
    return `${runs} had errors that the last ${earlier} runs of its name didn't have`;
  return `the ${what} of ${runs} is ${condition.words("comparison")} the median of the last ${earlier} of its name by ${condition.value("threshold") || "…"}`;
}

/** @param {ConditionFields} condition */
function metric(condition) {
  if (condition.value("quantity")) return `“${condition.words("quantity")}” is ${limits(condition)}`;
  const labels = condition.value("labels");
  let text = condition.value("metric") + (labels ? ` where ${labels}` : "");
  const windowed = condition.value("function");
  if (windowed === "rate") text = `the rate per second of ${text} over ${condition.value("window_seconds")}`;
  if (windowed === "change") text = `the change of ${text} over ${condition.value("window_seconds")}`;
  if (condition.value("by") !== "series") {
    const quantile = condition.value("aggregate") === "quantile" ? ` (${condition.value("quantile")})` : "";
    text = `the ${condition.words("aggregate")}${quantile} of ${text}`;
  }
  const other = condition.value("other");
  const operation = condition.words("operation");
  if (other === "attribute") text += `, ${operation} the worker's ${condition.words("other_attribute")}`;
  if (other === "metric") text += `, ${operation} ${condition.value("other_metric")}`;
  return `${text} is ${limits(condition)}`;
}

/** @param {ConditionFields} condition */
function limits(condition) {
  const clears = condition.value("clear_threshold");
  const threshold = condition.value("threshold") || "…";
  if (condition.isAbsent) return condition.words("comparison");
  return `${condition.words("comparison")} ${threshold}${clears ? ` (resolved at ${clears})` : ""}`;
}

/** @param {ConditionFields} condition */
function event(condition) {
  const pattern = condition.value("pattern");
  const count = Number(condition.value("count"));
  const matching = pattern ? ` with a message that matches “${pattern}”` : "";
  const repeated = count > 1 ? `, ${count} times or more within ${condition.value("window_seconds")}` : "";
  return `${condition.words("event")}${matching}${repeated}`;
}
