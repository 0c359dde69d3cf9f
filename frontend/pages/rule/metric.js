// Information on a condition's metric: its help text, its labels to choose from, and its recent values.

import { formatAmount } from "../../amounts.js";
import { sparkline } from "../../charts/alerts/sparkline.js";
import { element } from "../../element.js";

/** @typedef {import("./condition.js").Metric} Metric */
/** @typedef {import("./condition.js").ConditionFields} ConditionFields */
/** @typedef {import("../../charts/alerts/sparkline.js").Bin} Bin */

const MOST_VALUES = 12; // of a label that are suggested
const PAUSE = 500; // ms

export class MetricInfo {
  #element;
  #condition;
  #recent;
  #labels = element("div", "metric-labels");
  #values = element("div", "metric-values");
  #query = "";
  #drawn = "";
  #timer = 0;

  /**
   * @param {HTMLElement} place
   * @param {ConditionFields} condition
   * @param {() => Promise<{bins: Bin[], series: number, is_rate: boolean}>} recent
   */
  constructor(place, condition, recent) {
    this.#element = place;
    this.#condition = condition;
    this.#recent = recent;
  }

  /** @param {Metric|undefined} metric */
  show(metric) {
    this.#element.hidden = !metric;
    if (!metric) return;
    if (this.#drawn !== metric.name) {
      this.#drawn = metric.name;
      this.#values.replaceChildren();
      const unit = metric.unit ? element("span", "metric-unit", metric.unit) : "";
      const help = element("p", "metric-help", metric.help || "No description.", " ", unit);
      this.#element.replaceChildren(element("div", "metric-words", help, this.#labels), this.#values);
      this.#labels.replaceChildren(...this.#offered(metric));
    }
    const query = `${metric.name} ${this.#condition.value("labels")}`;
    if (query === this.#query) return;
    this.#query = query;
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(
      () => void this.#load(metric, query),
      this.#values.childElementCount ? PAUSE : 0,
    );
  }

  /** @param {Metric} metric */
  #offered(metric) {
    return Object.entries(metric.labels)
      .filter(([, values]) => values.length > 0)
      .map(([label, values]) => {
        const buttons = values.slice(0, MOST_VALUES).map((value) => {
          const button = element("button", "label-value", value || "(none)");
          button.type = "button";
          button.title = `Only series whose ${label} is ${value || "missing"}`;
          button.addEventListener("click", () => this.#narrow(label, value));
          return button;
        });
        const more = values.length > MOST_VALUES ? ` and ${values.length - MOST_VALUES} more` : "";
        return element("p", "metric-label", element("span", "label-name", label), ...buttons, more);
      });
  }

  /** @param {string} label @param {string} value */
  #narrow(label, value) {
    const matcher = `${label}="${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
    const before = new RegExp(`,?\\s*${label.replace(/\W/g, "\\$&")}\\s*=\\s*"[^"]*"`);
    const others = this.#condition.value("labels").replace(before, "");
    this.#condition.set("labels", [others.replace(/^,\s*/, ""), matcher].filter(Boolean).join(", "));
  }

  /** @param {Metric} metric @param {string} query */
  async #load(metric, query) {
    const { bins, series, is_rate } = await this.#recent().catch(() => ({
      bins: [],
      series: 0,
      is_rate: false,
    }));
    if (query !== this.#query) return;
    if (!bins.length) {
      this.#values.replaceChildren(element("p", "muted", "No recent values in this rule's scope."));
      return;
    }
    const unit = is_rate ? `${metric.unit}/s` : metric.unit;
    const write = (/** @type {number} */ value) => formatAmount(value, unit);
    const least = Math.min(...bins.map((bin) => bin.minimum));
    const most = Math.max(...bins.map((bin) => bin.maximum));
    const now = bins[bins.length - 1].mean;
    const words = `${write(least)} to ${write(most)}, now ${write(now)}`;
    const of = `${is_rate ? "per second, " : ""}of ${series} series in the last hour of data`;
    this.#values.replaceChildren(
      sparkline(bins, words),
      element("p", "muted", element("b", "", words), ` ${of}`),
    );
    if (!is_rate && this.#condition.value("threshold") === "" && this.#condition.value("other") === "") {
      // a first threshold: its line in the chart can be dragged
      this.#condition.set("threshold", formatAmount(most, unit));
    }
  }
}
