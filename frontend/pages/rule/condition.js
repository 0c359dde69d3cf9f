// A condition of a rule as a sentence: shows the parts that apply to the choices, suggests known metrics and labels,
// and describes the chosen metric.

import { element } from "../../element.js";
import { Choices } from "./choices.js";
import { MetricInfo } from "./metric.js";
import { measures, readQuantities } from "./quantity.js";

/**
 * KnownMetric in observatory/alerts/rules/known_metrics.py.
 * @typedef {{name: string, type: number, help: string, unit: string, of_workers: boolean, of_cluster: boolean,
 *   labels: Record<string, string[]>}} Metric
 */

const MAX_SUGGESTIONS = 60;
// the same as in observatory/alerts/rules/conditions.py
const ORDERED = [">", ">=", "<", "<="];
const RUN_WINDOW = "1 h";
// comparisons with what is usual
const OF_RUNS = [">", "<"];

export class ConditionFields {
  #info;
  #quantities = readQuantities();
  /** @type {Metric[]} */
  #metrics = [];

  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {(prefix: string) => Promise<any>} recent fetches the recent values of a condition's metric
   * @param {(name: string, hold: string) => void} chosen a quantity was chosen: its name and hold time
   */
  constructor(fieldset, recent, chosen) {
    this.fieldset = fieldset;
    this.prefix = fieldset.dataset.prefix ?? "";
    const info = /** @type {HTMLElement} */ (fieldset.querySelector(".metric-info"));
    this.#info = new MetricInfo(info, this, () => recent(this.prefix));
    for (const name of ["metric", "other_metric"]) this.#offerMetrics(name);
    this.field("run_name").setAttribute("placeholder", "any, or etl-*");
    this.field("kind").addEventListener("input", () => this.#kindChosen());
    this.field("threshold").addEventListener("input", () => this.#dropSuggestedClear());
    this.field("quantity").addEventListener("input", () => this.#fillIn(chosen));
    fieldset.addEventListener("input", () => this.update());
    fieldset.addEventListener("change", () => this.update());
    this.fieldset.hidden = fieldset.dataset.written === undefined;
    this.update();
  }

  /** @param {Metric[]} metrics */
  set metrics(metrics) {
    this.#metrics = metrics;
    this.update();
  }

  /** @param {string} name @returns {HTMLInputElement|HTMLSelectElement} */
  field(name) {
    const field = this.fieldset.querySelector(`[name="${this.prefix}-${name}"]`);
    return /** @type {HTMLInputElement} */ (field);
  }

  /** @param {string} name */
  value(name) {
    return this.field(name).value.trim();
  }

  /** The text of a choice. @param {string} name */
  words(name) {
    const field = this.field(name);
    return field instanceof HTMLSelectElement ? (field.selectedOptions[0]?.text ?? "") : field.value.trim();
  }

  /** Sets a field as if it was typed. @param {string} name @param {string} text */
  set(name, text) {
    const field = this.field(name);
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
  }

  get isEvent() {
    return this.value("kind") === "event";
  }

  /** It compares runs with earlier ones. */
  get isRun() {
    return this.value("kind") === "run";
  }

  get isMetric() {
    return this.value("kind") === "metric";
  }

  /** The condition is that the metric has no data. */
  get isAbsent() {
    return this.isMetric && this.value("comparison") === "absent";
  }

  /** A value is compared with a threshold, or is missing. */
  get isCompared() {
    return this.isMetric || (this.isRun && this.value("measure") !== "new-errors");
  }

  get isRemoved() {
    const remove = this.fieldset.querySelector(`[name="${this.prefix}-DELETE"]`);
    return remove instanceof HTMLInputElement && remove.checked;
  }

  get isShown() {
    return !this.fieldset.hidden && !this.isRemoved;
  }

  /** What it is on is chosen. */
  get isWritten() {
    return this.isShown && (this.isRun || this.value(this.isEvent ? "event" : "metric") !== "");
  }

  /** Nothing is missing. */
  get isComplete() {
    return !this.isCompared || this.isAbsent || this.value("threshold") !== "";
  }

  get metric() {
    return this.#metrics.find((metric) => metric.name === this.value("metric"));
  }

  /** Fills in the fields of the chosen quantity. @param {(name: string, hold: string) => void} chosen */
  #fillIn(chosen) {
    const quantity = this.#quantities[this.value("quantity")];
    if (!quantity) return;
    for (const [name, text] of Object.entries({ ...quantity.measured, ...quantity.limits }))
      this.field(name).value = text;
    chosen(this.words("quantity"), quantity.hold);
  }

  /** A threshold to clear at that came with the quantity suits only the threshold that came with it. */
  #dropSuggestedClear() {
    const limits = this.#quantities[this.value("quantity")]?.limits;
    if (limits && this.value("clear_threshold") === limits.clear_threshold)
      this.field("clear_threshold").value = "";
  }

  /** A condition on runs stays true for longer than events are counted. */
  #kindChosen() {
    if (!this.isRun) return;
    this.field("window_seconds").value = RUN_WINDOW;
    if (!OF_RUNS.includes(this.value("comparison"))) this.field("comparison").value = OF_RUNS[0];
  }

  update() {
    const quantity = this.value("quantity");
    const isKnown = measures(this.#quantities[quantity], (name) => this.value(name));
    if (quantity && !isKnown) this.field("quantity").value = "";
    const shown = this.#shown();
    for (const part of this.fieldset.querySelectorAll("[data-for]")) {
      if (part instanceof HTMLElement) part.hidden = !shown.has(part.dataset.for ?? "");
    }
    const series = this.field("by").querySelector('option[value="series"]');
    if (series instanceof HTMLOptionElement) series.hidden = series.disabled = this.isEvent;
    for (const option of this.field("comparison").querySelectorAll("option")) {
      option.hidden = option.disabled = this.isRun && !OF_RUNS.includes(option.value);
    }
    const place = this.fieldset.querySelector(this.#placeOfWindow);
    const length = this.field("window_seconds").closest(".rule-word");
    if (place && length && length.parentElement !== place) place.append(length);
    this.fieldset.classList.toggle("condition-removed", this.isRemoved);
    this.#info.show(this.isMetric ? this.metric : undefined);
  }

  /** The field is in the sentence once. */
  get #placeOfWindow() {
    if (this.isRun) return "[data-run-window]";
    return this.isEvent ? "[data-window]" : '[data-for="windowed"]';
  }

  /** The parts of the sentence that apply. */
  #shown() {
    const event = this.value("event");
    const { lasting, ofCluster } = this.field("event").dataset;
    const isLasting = namesOf(lasting).includes(event);
    const parts = {
      metric: this.isMetric,
      event: this.isEvent,
      run: this.isRun,
      compared: this.isCompared,
      aggregated: this.value("by") !== "series",
      single: this.value("by") === "series",
      "by-hand": this.value("quantity") === "",
      by: this.value("quantity") === "" && !this.isRun,
      quantile: this.value("aggregate") === "quantile",
      windowed: this.value("function") !== "value",
      threshold: !this.isAbsent,
      clears: this.isMetric && ORDERED.includes(this.value("comparison")),
      "other-metric": this.value("other") === "metric",
      "other-attribute": this.value("other") === "attribute",
      message: event !== "" && !isLasting,
      log: event === "log",
      counted: this.isEvent && event !== "" && !isLasting && !namesOf(ofCluster).includes(event),
    };
    return new Set(Object.entries(parts).flatMap(([name, is]) => (is ? [name] : [])));
  }

  /** @param {string} name */
  #offerMetrics(name) {
    const input = /** @type {HTMLInputElement} */ (this.field(name));
    const list = element("ul", "choices");
    list.id = `${input.id}-choices`;
    input.placeholder = "metric …";
    this.field(name.replace("metric", "labels")).setAttribute("placeholder", 'any, or name="value"');
    input.parentElement?.append(list);
    new Choices(
      input,
      list,
      (text) => this.#fitting(text),
      ({ text }) => this.set(name, text),
    );
  }

  /** Metrics whose name or help has all words. @param {string} text */
  #fitting(text) {
    const known = this.#metrics.some((metric) => metric.name === text);
    const words = known ? [] : text.toLowerCase().split(/\s+/);
    const fitting = this.#metrics.filter((metric) =>
      words.every((word) => `${metric.name} ${metric.help} ${metric.unit}`.toLowerCase().includes(word)),
    );
    // Observatory's first
    const order = (/** @type {Metric} */ metric) => (metric.name.startsWith("observatory_") ? 0 : 1);
    return fitting
      .toSorted((one, other) => order(one) - order(other) || groupOf(one).localeCompare(groupOf(other)))
      .slice(0, MAX_SUGGESTIONS)
      .map((metric) => ({
        text: metric.name,
        detail: [metric.unit, metric.help].filter(Boolean).join(" · "),
        group: groupOf(metric),
        value: metric,
      }));
  }
}

/** @param {string} [names] separated by spaces */
function namesOf(names) {
  return (names ?? "").split(" ");
}

/** @param {Metric} metric */
function groupOf(metric) {
  const [source, of] = metric.name.split("_");
  if (source === "observatory" || source === "dask")
    return `${source === "dask" ? "Dask" : "Observatory"}: ${of}`;
  return "others";
}
