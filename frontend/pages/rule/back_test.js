// The back-test on a rule's page: the server evaluates the unsaved rule over a past window, with the code that
// evaluates it live.

import { formatAmount } from "../../amounts.js";
import { BackTestChart } from "../../charts/alerts/back_test_chart.js";
import { element, showsAlready } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { formatDate } from "../../timeline/times.js";
import { PlaceChoice } from "./places.js";
import { offered, resultInWords } from "./result_text.js";

/** @typedef {import("./result_text.js").Result & {warnings: import("./warnings.js").Warning[]}} Result */

const PAUSE = 500; // ms after a change
const LOOK = 1000; // ms between two looks at how far it is

export class BackTest {
  #form;
  #section;
  #moved;
  #problems;
  #warn;
  #chart;
  #timer = 0;
  #isWindowChosen = false;
  /** @type {AbortController|null} */
  #request = null;

  /**
   * @param {HTMLFormElement} form the rule's
   * @param {HTMLElement} section
   * @param {(limit: import("../../charts/alerts/back_test_chart.js").Limit, text: string) => void} moved
   * @param {(problems: Record<string, string[]>) => string[]} problems shows them at their fields and returns the others
   * @param {(warnings: import("./warnings.js").Warning[]) => void} warn
   */
  constructor(form, section, moved, problems, warn) {
    this.#form = form;
    this.#section = section;
    this.#moved = moved;
    this.#problems = problems;
    this.#warn = warn;
    this.#chart = new BackTestChart(this.#part(".back-test-chart"), moved);
    const places = new PlaceChoice(section, () => this.soon());
    this.#part("[name=back-test-window]").addEventListener("change", () => {
      this.#isWindowChosen = true;
      places.showBounds();
    });
    section.addEventListener("change", () => this.soon());
    this.#part(".back-test-go").addEventListener("click", () => void this.#run());
    section.hidden = false;
  }

  /** Sets the window, unless somebody has chosen one. @param {string} name */
  lookBack(name) {
    const choice = /** @type {HTMLSelectElement} */ (this.#part("[name=back-test-window]"));
    if (!this.#isWindowChosen && choice.value !== "custom") choice.value = name;
  }

  /** Runs the back-test when nothing has changed for a moment. */
  soon() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => void this.#run(), PAUSE);
  }

  /** @param {string} selector @returns {HTMLElement} */
  #part(selector) {
    return /** @type {HTMLElement} */ (this.#section.querySelector(selector));
  }

  /** @param {string} text @param {boolean} [wrong] */
  #say(text, wrong = false) {
    const state = this.#part(".back-test-state");
    state.textContent = text;
    state.classList.toggle("rule-problem", wrong);
  }

  async #run() {
    clearTimeout(this.#timer);
    this.#request?.abort();
    const controller = (this.#request = new AbortController());
    this.#section.classList.add("back-test-running");
    this.#say("Evaluating …");
    const { backTest = "", progress = "" } = /** @type {HTMLElement} */ (this.#form.querySelector("#rule"))
      .dataset;
    const name = newName();
    const body = new FormData(this.#form);
    body.set("back-test-name", name);
    const telling = window.setInterval(
      () => void this.#tellProgress(`${progress}?name=${name}`, controller),
      LOOK,
    );
    const response = await fetch(backTest, { method: "POST", body, signal: controller.signal }).catch(
      () => null,
    );
    const answer = await response?.json().catch(() => ({}));
    clearInterval(telling);
    if (controller.signal.aborted) return;
    this.#section.classList.remove("back-test-running");
    if (!response) this.#say("The server can't be reached. The form is unchanged: try again.", true);
    else if (response.ok) await this.#show(answer);
    else this.#refused(answer.errors ?? { "": [`The server answered ${response.status}.`] });
  }

  /** Says how far the back-test is. @param {string} url @param {AbortController} controller of the request */
  async #tellProgress(url, controller) {
    const response = await fetch(url, { signal: controller.signal }).catch(() => null);
    const { share } = (await response?.json().catch(() => null)) ?? {};
    const isRunning = this.#request === controller && this.#section.classList.contains("back-test-running");
    if (isRunning && typeof share === "number") this.#say(`Evaluating … ${Math.floor(100 * share)} %`);
  }

  /** @param {Record<string, string[]>} errors */
  #refused(errors) {
    const others = this.#problems(errors);
    this.#part(".back-test-chart").hidden = true;
    this.#part(".back-test-firings").replaceChildren();
    this.#offerClear(null);
    this.#say(others.join(" ") || "The rule is incomplete: see above.", others.length > 0);
  }

  /** Offers a threshold to clear at. @param {import("./result_text.js").ClearOffer|null} offer */
  #offerClear(offer) {
    const place = this.#part(".back-test-offer");
    if (showsAlready(place, offer)) return;
    place.hidden = offer === null;
    if (offer === null) return;
    const button = element("button", "back-test-clear", `Clear at ${offer.text}`);
    button.type = "button";
    button.addEventListener("click", () => this.#moved("clear_threshold", offer.text));
    place.replaceChildren(`${offered(offer)} `, button);
  }

  /** @param {Result} result */
  async #show(result) {
    this.#problems({});
    this.#warn(result.warnings);
    const chart = this.#part(".back-test-chart");
    chart.hidden = result.lines.length === 0;
    this.#say(resultInWords(result));
    this.#offerClear(result.clear_offer);
    this.#part(".back-test-firings").replaceChildren(...firings(result));
    if (result.lines.length) await this.#chart.draw(result);
  }
}

/** Of one run of the back-test, by which its progress is asked for. crypto.randomUUID needs HTTPS. */
function newName() {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}

/** @param {Result} result */
function firings({ firings, more_firings, unit, is_event, stop }) {
  if (!firings.length) return [];
  const rows = firings.map((firing) => {
    const link = element("a", "", formatDate(firing.fired));
    link.href = firing.url;
    link.target = "_blank";
    const value = is_event || firing.value === null ? "" : formatAmount(firing.value, unit);
    const lasted =
      formatDuration((firing.resolved ?? stop) - firing.fired) +
      (firing.resolved === null ? ", still firing" : "");
    const pending = firing.fired > firing.pending ? formatDuration(firing.fired - firing.pending) : "";
    const cells = [firing.cluster, firing.subject, link, pending, lasted];
    return element("tr", "", ...[...cells, firing.text || value].map((cell) => element("td", "", cell)));
  });
  const names = ["cluster", "subject", "fired", "pending for", "firing for", is_event ? "event" : "value"];
  const head = element("tr", "", ...names.map((name) => element("th", "", name)));
  const table = element("table", "firings", element("thead", "", head), element("tbody", "", ...rows));
  const scroller = element("div", "firings-scroller", table);
  return more_firings ? [scroller, element("p", "muted", `and ${more_firings} more`)] : [scroller];
}
