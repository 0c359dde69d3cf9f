// The form of a change: what is different, and how long the window would have taken then.

import { element } from "../../element.js";
import { WindowData } from "../../timeline/window_data.js";
import { changeText, doubtsText, savingText } from "./texts.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["Prediction"]} Prediction */
/** @typedef {import("./texts.js").Answer} Answer */

const MOST_TIMES = 4; // the workers and threads of the window

export class ChangeForm {
  element = element("form", "what-if-form");
  #context;
  #workers = range();
  #threads = range();
  #prefix = element("select", "");
  #times = element("input", "");
  #isLocal = checkbox();
  #isUnlimited = checkbox();
  #isFromStart = checkbox();
  #predicted = element("output", "what-if-predicted");
  /** @type {Answer|null} */
  #answer = null;
  /** @type {WindowData<Prediction>|null} */
  #prediction = null;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    Object.assign(this.#times, { type: "number", min: "0.1", max: "100", step: "0.1", value: "2" });
    this.element.hidden = true;
    this.element.setAttribute("aria-label", "Try a change");
    this.element.append(
      labelled("workers", this.#workers.input, this.#workers.value),
      labelled("threads of each", this.#threads.input, this.#threads.value),
      labelled("tasks of", this.#prefix),
      labelled("times as fast", this.#times),
      labelled("no data to move", this.#isLocal),
      labelled("nothing spilled or paused", this.#isUnlimited),
      labelled("all there from the start", this.#isFromStart),
      this.#predicted,
    );
    this.element.addEventListener("input", () => this.#writeValues());
    this.element.addEventListener("change", () => this.#predict());
    this.element.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#predict();
    });
  }

  /**
   * What was chosen stays, unless the window had other workers.
   * @param {Answer|null} answer null: nothing can be predicted
   */
  show(answer) {
    const before = this.#answer;
    this.#answer = answer;
    this.element.hidden = !answer;
    if (!answer) return;
    if (before?.workers !== answer.workers) setRange(this.#workers.input, answer.workers);
    if (before?.threads !== answer.threads) setRange(this.#threads.input, answer.threads);
    const chosen = this.#prefix.value;
    const options = answer.prefixes.map(({ prefix, name }) => new Option(name, String(prefix)));
    this.#prefix.replaceChildren(new Option("no prefix", ""), ...options);
    if (options.some(({ value }) => value === chosen)) this.#prefix.value = chosen;
    this.#writeValues();
    if (before && (before.start !== answer.start || before.stop !== answer.stop) && !this.#isAsItWas())
      this.#predict();
  }

  #writeValues() {
    for (const { input, value } of [this.#workers, this.#threads]) value.textContent = input.value;
    this.#times.disabled = !this.#prefix.value;
  }

  #change() {
    const { workers = 0, threads = 0 } = this.#answer ?? {};
    const other = (/** @type {HTMLInputElement} */ input, /** @type {number} */ was) =>
      Number(input.value) === was ? null : Number(input.value);
    return {
      workers: other(this.#workers.input, workers),
      threads: other(this.#threads.input, threads),
      prefix: this.#prefix.value ? Number(this.#prefix.value) : null,
      times_as_fast: this.#prefix.value ? Number(this.#times.value) || 1 : 1,
      no_transfers: this.#isLocal.checked,
      unlimited_memory: this.#isUnlimited.checked,
      from_start: this.#isFromStart.checked,
    };
  }

  #isAsItWas() {
    return Object.values(this.#change()).every((one) => one === null || one === false || one === 1);
  }

  #predict() {
    this.#prediction?.stop();
    this.#predicted.textContent = "";
    const answer = this.#answer;
    if (!answer || !this.element.reportValidity() || this.#isAsItWas()) return;
    const change = this.#change();
    const parameters = Object.entries(change).filter(([, value]) => value !== null && value !== false);
    const query = new URLSearchParams(parameters.map(([name, value]) => [name, String(value)]));
    const prediction = new WindowData(this.#context.source, `/what-if/prediction?${query}`);
    this.#prediction = prediction;
    this.#predicted.textContent = "simulating …";
    prediction.addEventListener("change", () => {
      if (this.#prediction === prediction) this.#write(answer, change);
    });
    prediction.update({ start: answer.start, stop: answer.stop, playhead: answer.start, live: false });
  }

  /**
   * @param {Answer} answer
   * @param {Parameters<typeof changeText>[0]} change
   */
  #write({ seconds: before, doubts: known }, change) {
    const { answer, message } = /** @type {WindowData<Prediction>} */ (this.#prediction);
    const { seconds, least, most } = answer ?? {};
    if (typeof seconds !== "number" || typeof least !== "number" || typeof most !== "number") {
      this.#predicted.textContent = message;
      return;
    }
    const text = changeText(change, (prefix) => this.#context.model.prefixName(prefix));
    const others = (answer?.doubts ?? []).filter((doubt) => !known.includes(doubt));
    this.#predicted.textContent = `${text[0].toUpperCase()}${text.slice(1)}: ${savingText({ seconds, least, most }, before)}. ${doubtsText(others)}`;
  }
}

/** A slider with its value beside it. */
function range() {
  const input = element("input", "");
  input.type = "range";
  input.min = "1";
  return { input, value: element("span", "what-if-value") };
}

/** @param {HTMLInputElement} input @param {number} value as it was */
function setRange(input, value) {
  input.max = String(Math.max(MOST_TIMES * value, 2));
  input.value = String(value);
}

function checkbox() {
  const input = element("input", "");
  input.type = "checkbox";
  return input;
}

/**
 * @param {string} text
 * @param {...HTMLElement} parts
 */
function labelled(text, ...parts) {
  return element("label", "", element("span", "muted", text), ...parts);
}
