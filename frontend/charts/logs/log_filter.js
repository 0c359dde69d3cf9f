// The filter of log lines: text or regular expression, level, process, logger, and the selected worker.

import { element } from "../../element.js";
import { newest, slotLabel } from "../../timeline/slots.js";
import { LEVEL_NAMES, LOG_LEVELS } from "../../timeline/log_levels.js";
import { LOG_ROLES, LogOptions } from "./options.js";

/** @typedef {import("../../types.js").Context} Context */

const PAUSE = 300; // ms without a key
const LONGEST = 500; // characters
const MOST_NAMES = 200; // of workers that are suggested

export class LogFilter {
  bar;
  #context;
  #match = input("search", "text", "Text in the message or traceback");
  #regex = element("button", "log-regex", ".*");
  #level = select("Lowest level", [
    "all levels",
    ...LOG_LEVELS.map((level) => (level < 50 ? `${LEVEL_NAMES[level]} and above` : LEVEL_NAMES[level])),
  ]);
  #role = select("Process", [
    "all processes",
    ...LOG_ROLES.map((role) => (role === "nanny" ? "nannies" : role === "worker" ? "workers" : role)),
  ]);
  #logger = input("search", "logger", "Logger, and those below it");
  #worker = input("search", "worker", "Worker, whose nanny is included");
  #names = element("datalist", "");
  #clear = element("button", "", "Clear");
  #all = element("a", "button", "All as CSV");
  #timer = 0;
  #version = -1;

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    for (const button of [this.#regex, this.#clear]) button.type = "button";
    this.#regex.title = "Regular expression (RE2), without regard to case";
    this.#regex.setAttribute("aria-label", "The text is a regular expression");
    this.#names.id = "log-workers";
    this.#worker.setAttribute("list", this.#names.id);
    const text = element("span", "log-match", this.#match, this.#regex);
    this.bar = element(
      "form",
      "log-filter",
      text,
      this.#level,
      this.#role,
      this.#worker,
      this.#names,
      this.#logger,
      this.#clear,
      this.#all,
    );
    this.bar.setAttribute("role", "search");
    this.bar.setAttribute("aria-label", "Log lines");
    this.#all.hidden = context.source.pages === null;
    this.#all.title = "All lines of the window that the filter finds, as a file";
    this.#all.addEventListener("pointerdown", () => this.#nameFile());
    this.#all.addEventListener("focus", () => this.#nameFile());
    this.#listen();
    this.update();
  }

  #listen() {
    const { features, selection } = this.#context;
    const logOptions = features.of(LogOptions);
    this.bar.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#takeTexts();
    });
    for (const field of [this.#match, this.#logger]) field.addEventListener("input", () => this.#wait());
    this.#worker.addEventListener("change", () => this.#chooseWorker());
    this.#worker.addEventListener("search", () => this.#chooseWorker());
    this.#level.addEventListener("change", () =>
      logOptions.set({ level: LOG_LEVELS[this.#level.selectedIndex - 1] ?? null }),
    );
    this.#role.addEventListener("change", () =>
      logOptions.set({ role: LOG_ROLES[this.#role.selectedIndex - 1] ?? null }),
    );
    this.#regex.addEventListener("click", () => logOptions.set({ isRegex: !logOptions.choice.isRegex }));
    this.#clear.addEventListener("click", () => {
      clearTimeout(this.#timer);
      logOptions.clear();
      selection.set({ worker: null });
    });
  }

  #wait() {
    clearTimeout(this.#timer);
    this.#timer = window.setTimeout(() => this.#takeTexts(), PAUSE);
  }

  #takeTexts() {
    clearTimeout(this.#timer);
    this.#context.features
      .of(LogOptions)
      .set({ match: this.#match.value.trim(), logger: this.#logger.value.trim() });
  }

  #chooseWorker() {
    const { model, selection } = this.#context;
    const name = this.#worker.value.trim();
    const slot = [...model.slots.values()].find((one) => slotLabel(one) === name);
    if (slot) selection.set({ worker: newest(slot).id });
    else if (!name) selection.set({ worker: null });
    this.#worker.setCustomValidity(slot || !name ? "" : "No worker has this name.");
    this.#worker.reportValidity();
  }

  /** Says in the address of the file what is shown now. A regular expression is left out: the file has all texts. */
  #nameFile() {
    const { features, selection, model, timeline, source } = this.#context;
    const { level, role, logger, match, isRegex } = features.of(LogOptions).choice;
    const slot = model.slotOf(selection.worker);
    const query = new URLSearchParams({
      format: "csv",
      from: timeline.start.toFixed(6),
      to: timeline.stop.toFixed(6),
      ...(level !== null && { level: String(level) }),
      ...(role !== null && { role }),
      ...(slot && { worker: slotLabel(slot) }),
      ...(logger && { logger }),
      ...(match && !isRegex && { text: match }),
    });
    this.#all.href = `${source.pages}logs/?${query}`;
  }

  /** Shows the choice, except in a field that is being written in. */
  update() {
    const { features, selection, model } = this.#context;
    const logOptions = features.of(LogOptions);
    const { level, role, logger, match, isRegex } = logOptions.choice;
    this.#level.selectedIndex = level === null ? 0 : LOG_LEVELS.indexOf(level) + 1;
    this.#role.selectedIndex = role === null ? 0 : LOG_ROLES.indexOf(role) + 1;
    this.#regex.setAttribute("aria-pressed", String(isRegex));
    const slot = model.slotOf(selection.worker);
    setValue(this.#match, match);
    setValue(this.#logger, logger);
    setValue(this.#worker, slot ? slotLabel(slot) : "");
    this.#clear.hidden = logOptions.areAll && selection.worker === null;
    if (this.#version === model.version) return;
    this.#version = model.version;
    const labels = [...model.slots.values()].slice(0, MOST_NAMES).map(slotLabel);
    this.#names.replaceChildren(...labels.map((label) => optionOf(label)));
  }
}

/**
 * @param {string} kind
 * @param {string} placeholder
 * @param {string} label
 */
function input(kind, placeholder, label) {
  const made = element("input", "");
  made.type = kind;
  made.placeholder = placeholder;
  made.maxLength = LONGEST;
  made.setAttribute("aria-label", label);
  return made;
}

/**
 * @param {string} label
 * @param {string[]} options
 */
function select(label, options) {
  const made = element("select", "", ...options.map((option) => element("option", "", option)));
  made.setAttribute("aria-label", label);
  return made;
}

/** @param {string} value */
function optionOf(value) {
  const made = element("option", "");
  made.value = value;
  return made;
}

/**
 * @param {HTMLInputElement} field
 * @param {string} value
 */
function setValue(field, value) {
  if (document.activeElement !== field && field.value.trim() !== value) field.value = value;
}
