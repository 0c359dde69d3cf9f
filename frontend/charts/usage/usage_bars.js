// What was used on each day, as bars that are stacked by group.

import { formatCount, formatDuration } from "../../formatting.js";
import { element } from "../../element.js";
import { workerColor } from "../drawing/palette.js";
import { config, layoutOf, loadPlotly, plain } from "../drawing/plotly.js";
import { theme } from "../drawing/theme.js";

/**
 * @typedef {import("../../types.js").Schemas["UsageOut"]} Usage
 * @typedef {import("../../types.js").Schemas["UsageOfDay"]} UsageOfDay
 * @typedef {{name: string, unit: string, value: (row: UsageOfDay) => number, write: (value: number) => string}} Measure
 * @typedef {{name: string, kind: string, values: number[], texts: string[]}} Stack
 */

const HEIGHT = 300; // px
const HOUR = 3600;
const GIB = 2 ** 30;

/** @param {number} hours */
const writeHours = (hours) => formatDuration(hours * HOUR);

/** @type {Measure[]} */
const MEASURES = [
  { name: "Compute", unit: "thread-hours", value: (row) => row.busy_seconds / HOUR, write: writeHours },
  { name: "Idle", unit: "thread-hours", value: (row) => row.idle_seconds / HOUR, write: writeHours },
  { name: "Cluster time", unit: "hours", value: (row) => row.cluster_seconds / HOUR, write: writeHours },
  {
    name: "Memory",
    unit: "GiB-hours",
    value: (row) => row.memory_seconds / GIB / HOUR,
    write: (value) => `${formatCount(value)} GiB h`,
  },
  { name: "Tasks", unit: "tasks", value: (row) => row.tasks, write: formatCount },
  { name: "Errors", unit: "errors", value: (row) => row.errors, write: formatCount },
];

/**
 * The measures of a usage; each currency is one.
 * @param {Usage} usage
 * @returns {Measure[]}
 */
export function measuresOf({ total }) {
  const costs = total.costs.map(({ currency }) => ({
    name: total.costs.length > 1 ? `Cost (${currency})` : "Cost",
    unit: currency,
    value: (/** @type {UsageOfDay} */ row) =>
      row.costs.find((cost) => cost.currency === currency)?.amount ?? 0,
    write: (/** @type {number} */ value) => `${value.toFixed(2)} ${currency}`,
  }));
  return [...costs, ...MEASURES];
}

/**
 * All days from the first to the last, as YYYY-MM-DD.
 * @param {Usage} usage
 */
export function daysOf({ since, until }) {
  const days = [];
  for (let at = Date.parse(since); at <= Date.parse(until); at += 86_400_000) {
    days.push(new Date(at).toISOString().slice(0, 10));
  }
  return days;
}

/**
 * The bars of each group; a day without usage is 0.
 * @param {Usage} usage
 * @param {Measure} measure
 * @returns {Stack[]}
 */
export function stacksOf(usage, measure) {
  const days = daysOf(usage);
  return usage.groups.map(({ key, kind, name }) => {
    const rows = new Map(
      usage.days
        .filter((row) => row.key === key && row.kind === kind)
        .map((row) => [row.day, measure.value(row)]),
    );
    const values = days.map((day) => rows.get(day) ?? 0);
    return { name, kind, values, texts: values.map(measure.write) };
  });
}

export class UsageBars {
  #usage;
  #measures;
  #measure;
  #plot;
  /** @type {import("../drawing/plotly.js").Plotly|null} */
  #plotly = null;

  /**
   * @param {HTMLElement} place with elements data-measures and data-plot
   * @param {Usage} usage
   */
  constructor(place, usage) {
    this.#usage = usage;
    this.#measures = measuresOf(usage);
    this.#measure = this.#measures[0];
    this.#plot = /** @type {HTMLElement} */ (place.querySelector("[data-plot]"));
    // the table of days has the same
    this.#plot.setAttribute("aria-hidden", "true");
    place
      .querySelector("[data-measures]")
      ?.replaceChildren(...this.#measures.map((measure) => this.#button(measure)));
    window.addEventListener("themechange", () => void this.#paint());
    new ResizeObserver(() => void this.#paint()).observe(place);
  }

  async draw() {
    this.#plotly = await loadPlotly().catch(() => null);
    await this.#paint();
  }

  /** @param {Measure} measure */
  #button(measure) {
    const button = /** @type {HTMLButtonElement} */ (element("button", "", measure.name));
    button.type = "button";
    button.setAttribute("aria-pressed", String(measure === this.#measure));
    button.addEventListener("click", () => {
      this.#measure = measure;
      for (const each of button.parentElement?.children ?? [])
        each.setAttribute("aria-pressed", String(each === button));
      void this.#paint();
    });
    return button;
  }

  async #paint() {
    const width = this.#plot.clientWidth;
    if (!this.#plotly || !width) return;
    const days = daysOf(this.#usage);
    const traces = stacksOf(this.#usage, this.#measure).map((stack, index) => ({
      type: "bar",
      name: plain(stack.name),
      x: days,
      y: stack.values,
      customdata: stack.texts,
      hovertemplate: `%{x}: <b>%{customdata}</b><extra>${plain(stack.name)}</extra>`,
      marker: { color: stack.kind === "value" ? workerColor(index) : theme().muted },
    }));
    const colors = theme();
    const more = {
      barmode: "stack",
      margin: { l: 64, r: 16, t: 8, b: 40 },
      xaxis: {
        type: "date",
        gridcolor: colors.border,
        fixedrange: true,
        tickformat: "%Y-%m-%d",
        nticks: Math.max(2, Math.floor(width / 110)),
      },
      yaxis: {
        title: { text: plain(this.#measure.unit) },
        gridcolor: colors.border,
        rangemode: "tozero",
        fixedrange: true,
      },
      showlegend: true,
      legend: { orientation: "h", y: -0.18 },
    };
    await this.#plotly.react(this.#plot, traces, layoutOf(width, HEIGHT, more), config);
    this.#plot.dataset.drawn = this.#measure.name;
  }
}
