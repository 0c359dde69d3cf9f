// “What would have fired”: the rule as it stands on the page, unsaved, asked of a window of the past by the server,
// with the code that evaluates it live.

import { formatDuration } from "../../formatting.js";
import { formatAmount } from "../../amounts.js";
import { TrialChart } from "../../charts/alerts/trial_chart.js";
import { element } from "../../element.js";
import { formatDate } from "../../timeline/times.js";
import { PlaceChoice } from "./places.js";

/** @typedef {import("../../charts/alerts/trial_chart.js").Drawn & {more_lines: number, more_firings: number,
 *   clusters: string[], more_clusters: number}} Tried */

const PAUSE = 500; // ms after a change

export class Trial {
  #form;
  #section;
  #problems;
  #chart;
  #timer = 0;
  /** @type {AbortController|null} */
  #asking = null;

  /**
   * @param {HTMLFormElement} form the rule's
   * @param {HTMLElement} section
   * @param {(limit: import("../../charts/alerts/trial_chart.js").Limit, text: string) => void} moved
   * @param {(problems: Record<string, string[]>) => string[]} problems shows them at their fields, returns the others
   */
  constructor(form, section, moved, problems) {
    this.#form = form;
    this.#section = section;
    this.#problems = problems;
    this.#chart = new TrialChart(this.#part(".trial-chart"), moved);
    const places = new PlaceChoice(section, () => this.soon());
    this.#part("[name=trial-window]").addEventListener("change", () => places.showBounds());
    section.addEventListener("change", () => this.soon());
    this.#part(".trial-go").addEventListener("click", () => void this.#ask());
    section.hidden = false;
  }

  /** Asks when nothing more is changed for a moment. */
  soon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#ask(), PAUSE);
  }

  /** @param {string} selector @returns {HTMLElement} */
  #part(selector) {
    return /** @type {HTMLElement} */ (this.#section.querySelector(selector));
  }

  /** @param {string} text @param {boolean} [wrong] */
  #say(text, wrong = false) {
    const state = this.#part(".trial-state");
    state.textContent = text;
    state.classList.toggle("rule-problem", wrong);
  }

  async #ask() {
    clearTimeout(this.#timer);
    this.#asking?.abort();
    const asking = (this.#asking = new AbortController());
    this.#section.classList.add("trial-asking");
    this.#say("Looking at what was recorded …");
    const url = /** @type {HTMLElement} */ (this.#form.querySelector("#rule")).dataset.try ?? "";
    const request = { method: "POST", body: new FormData(this.#form), signal: asking.signal };
    const answer = await fetch(url, request).catch(() => null);
    const told = await answer?.json().catch(() => ({}));
    if (asking.signal.aborted) return;
    this.#section.classList.remove("trial-asking");
    if (!answer) this.#say("The server can't be reached. Nothing is lost here: try again.", true);
    else if (answer.ok) await this.#show(told);
    else this.#refused(told.errors ?? { "": [`The server answered ${answer.status}.`] });
  }

  /** @param {Record<string, string[]>} errors */
  #refused(errors) {
    const others = this.#problems(errors);
    this.#part(".trial-chart").hidden = true;
    this.#part(".trial-firings").replaceChildren();
    this.#say(others.join(" ") || "Not everything is written yet that it needs: see above.", others.length > 0);
  }

  /** @param {Tried} tried */
  async #show(tried) {
    this.#problems({});
    const chart = this.#part(".trial-chart");
    chart.hidden = tried.lines.length === 0;
    this.#say(sentence(tried));
    this.#part(".trial-firings").replaceChildren(...firings(tried));
    if (tried.lines.length) await this.#chart.draw(tried);
  }
}

/** @param {Tried} tried */
function sentence(tried) {
  const { lines, more_lines, firings, more_firings, clusters, more_clusters, is_event } = tried;
  const count = firings.length + more_firings;
  const said = [];
  if (!clusters.length) said.push("No cluster that the rule is about was there in this window.");
  else if (!lines.length && !is_event) said.push("No data of this metric in the window.");
  else if (!count) said.push("Nothing would have fired.");
  else said.push(`It would have fired ${count === 1 ? "once" : `${count} times`}.`);
  if (clusters.length) said.push(`Looked at ${named(clusters)}${more_clusters ? ` (${more_clusters} more aren't)` : ""}.`);
  if (more_lines) said.push(`${lines.length} of ${lines.length + more_lines} are drawn.`);
  return said.join(" ");
}

/** @param {string[]} clusters */
function named(clusters) {
  return clusters.length > 3 ? `${clusters.slice(0, 3).join(", ")} and ${clusters.length - 3} more` : clusters.join(", ");
}

/** @param {Tried} tried */
function firings({ firings, more_firings, unit, is_event, stop }) {
  if (!firings.length) return [];
  const rows = firings.map((firing) => {
    const link = element("a", "", formatDate(firing.fired));
    link.href = firing.url;
    link.target = "_blank";
    const value = is_event || firing.value === null ? "" : formatAmount(firing.value, unit);
    const lasted = formatDuration((firing.resolved ?? stop) - firing.fired) + (firing.resolved === null ? ", and on" : "");
    const held = firing.fired > firing.pending ? formatDuration(firing.fired - firing.pending) : "";
    const cells = [firing.cluster, firing.subject, link, held, lasted];
    return element("tr", "", ...[...cells, firing.text || value].map((cell) => element("td", "", cell)));
  });
  const names = ["cluster", "of", "fired", "held before", "for", is_event ? "what" : "value"];
  const head = element("tr", "", ...names.map((name) => element("th", "", name)));
  const table = element("table", "firings", element("thead", "", head), element("tbody", "", ...rows));
  const scroller = element("div", "firings-scroller", table);
  return more_firings ? [scroller, element("p", "muted", `and ${more_firings} more`)] : [scroller];
}
