// What would have made the window shorter: the changes that help most, other numbers of workers, and a form to try more.

import { element } from "../../element.js";
import { formatDuration, formatPercent } from "../../formatting.js";
import { DataTable } from "../data_table/data_table.js";
import { microseconds } from "../chart_menu/table.js";
import { Shown } from "../drawing/shown.js";
import { ChangeForm } from "./change_form.js";
import { changeText, countText, doubtsText, NEEDS_AGENT, NOTHING, savingText, tookText } from "./texts.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./texts.js").Answer} Answer */
/** @typedef {import("../../types.js").Schemas["SizePrediction"]} Size */

/** @type {Chart} */
export const whatIf = {
  name: "what-if",
  title: "What if",
  place: "below",
  layers: [],
  answers: ["/what-if"],
  help:
    "How long the window would have taken with other workers, faster tasks, or no waiting for data: its tasks are simulated with the durations, " +
    "sizes and dependencies that were recorded, and with Dask's rules of where tasks go. Work ÷ threads is the estimate without a simulation.",
  create: (parent, context) => new WhatIf(parent, context),
};

class WhatIf {
  #parent;
  #context;
  #took = element("p", "");
  #changes = element("ol", "what-if-changes");
  #doubts = element("p", "what-if-doubts");
  #note = element("p", "chart-empty");
  #sizes;
  #form;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#note.setAttribute("role", "status");
    const table = element("div", "what-if-sizes");
    this.#form = new ChangeForm(context);
    parent.append(this.#note, this.#took, this.#doubts, this.#changes, table, this.#form.element);
    this.#sizes = new DataTable(table, this.#columns(), {
      label: "numbers of workers",
      empty: "",
      key: ({ workers }) => workers,
    });
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { answers, model } = this.#context;
    const whatIf = answers["/what-if"];
    whatIf.update(view);
    if (!this.#shown.changes(whatIf.answer, whatIf.message, model.version)) return;
    this.#render();
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    return this.#sizes.table();
  }

  #render() {
    const { answer, message } = this.#context.answers["/what-if"];
    const missing = !answer
      ? message
      : !answer.has_agent
        ? NEEDS_AGENT
        : answer.simulated === null
          ? NOTHING
          : "";
    const known = missing ? null : answer;
    this.#note.textContent = missing || message;
    this.#note.hidden = !this.#note.textContent;
    for (const part of [this.#took, this.#changes]) part.hidden = !known;
    this.#took.textContent = known ? tookText(known) : "";
    this.#doubts.textContent = known ? doubtsText(known.doubts) : "";
    this.#doubts.hidden = !this.#doubts.textContent;
    this.#changes.replaceChildren(...(known ? this.#items(known) : []));
    this.#sizes.show(known?.sizes ?? []);
    this.#form.show(this.#context.source.url === "" ? null : known);
  }

  /** @param {Answer} answer */
  #items({ changes, seconds }) {
    if (!changes.length) return [element("li", "", "No change that was tried would have made it shorter.")];
    const nameOf = (/** @type {number} */ prefix) => this.#context.model.prefixName(prefix);
    return changes.map((change) => {
      const text = changeText(change, nameOf);
      return element(
        "li",
        "",
        element("strong", "", text[0].toUpperCase() + text.slice(1)),
        `: ${savingText(change, seconds)}`,
      );
    });
  }

  /** @returns {import("../data_table/data_table.js").Column<Size>[]} */
  #columns() {
    const longest = () =>
      Math.max(...(this.#context.answers["/what-if"].answer?.sizes ?? []).map(({ seconds }) => seconds));
    return [
      { name: "workers", title: "with", value: ({ workers }) => countText(workers, "worker") },
      {
        name: "seconds",
        title: "predicted",
        unit: "s",
        value: ({ seconds }) => microseconds(seconds),
        cell: ({ seconds }) => bar(seconds, longest()),
      },
      {
        name: "interval",
        title: "between",
        help: "Eight of ten runs take a time in this interval",
        value: ({ least }) => microseconds(least),
        text: ({ least, most }) => `${formatDuration(least)} – ${formatDuration(most)}`,
      },
      {
        name: "naive",
        title: "work ÷ threads",
        unit: "s",
        help: "The time of all tasks, divided by the threads",
        value: ({ naive }) => microseconds(naive),
        text: ({ naive }) => formatDuration(naive),
      },
    ];
  }
}

/** @param {number} seconds @param {number} longest */
function bar(seconds, longest) {
  const share = longest > 0 ? seconds / longest : 0;
  const filled = element("i", "what-if-bar");
  filled.style.width = formatPercent(share).replace(" ", "");
  return element(
    "span",
    "what-if-length",
    element("span", "", formatDuration(seconds)),
    element("span", "what-if-track", filled),
  );
}
