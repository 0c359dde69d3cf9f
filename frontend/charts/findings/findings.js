// What cost time in the window, or made it fail: sentences that open to their evidence.

import { element } from "../../element.js";
import { SITE } from "../../site.js";
import { Shown } from "../drawing/shown.js";
import { findingItem } from "./item.js";
import { costText, markedText, missingText, noteText, nothingText } from "./texts.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */

/** @type {Chart} */
export const findings = {
  name: "findings",
  title: "Findings",
  place: "above",
  layers: [],
  answers: ["/findings"],
  help:
    "Causes of lost time in the window, the most costly first, and what made tasks fail. Open one for its evidence: its moments and tasks " +
    "lead to the timeline. The cost is what would be saved without the cause: the window is simulated without it, and eight of ten true costs are " +
    "in the interval. Where that can't be, it is a sum of times. Those marked as known or wrong in runs of the name are folded below.",
  create: (parent, context) => new Findings(parent, context),
};

class Findings {
  #parent;
  #context;
  #list = element("ol", "findings");
  #markedList = element("ol", "findings");
  #markedTitle = element("summary", "");
  #marked = element("details", "findings-marked", this.#markedTitle, this.#markedList);
  #note = element("p", "chart-note muted");
  /** @type {View|null} that was drawn last */
  #view = null;
  #shownItems = new Shown();
  #shownNote = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#note.setAttribute("role", "status");
    if (context.source.run) {
      const all = element("a", "", "All marks");
      all.href = `${SITE}/runs/finding-marks/`;
      this.#marked.append(element("p", "", all));
    }
    parent.append(this.#list, this.#marked, this.#note);
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    const { answers, model } = this.#context;
    const findings = answers["/findings"];
    findings.update(view);
    if (this.#shownItems.changes(findings.answer, model.version)) this.#render();
    if (!this.#shownNote.changes(findings.answer, findings.message)) return;
    const { answer } = findings;
    this.#note.textContent = answer
      ? [answer.findings.some(({ mark }) => !mark) ? "" : nothingText(answer), noteText(this.#context)]
          .filter(Boolean)
          .join(" ")
      : missingText(this.#context);
    this.#note.hidden = !this.#note.textContent;
  }

  /** Findings that were open stay so, and the focus stays where it was. */
  #render() {
    /** @type {NodeListOf<HTMLElement>} */
    const opened = this.#parent.querySelectorAll("details[data-finding][open]");
    const open = new Set([...opened].map((one) => one.dataset.finding));
    const focused = this.#focused();
    const found = this.#context.answers["/findings"].answer?.findings ?? [];
    /** @param {typeof found[number]} finding */
    const item = (finding) => findingItem(this.#context, finding, open, () => this.#reload());
    const shown = found.filter(({ mark }) => !mark);
    const marked = found.filter(({ mark }) => mark);
    this.#list.replaceChildren(...shown.map(item));
    this.#list.hidden = shown.length === 0;
    this.#markedList.replaceChildren(...marked.map(item));
    this.#markedTitle.textContent = markedText(marked.length);
    this.#marked.hidden = marked.length === 0;
    if (focused) this.#focus(focused);
  }

  /** @returns {{finding: string|undefined, text: string|null}|null} what has the focus of the findings */
  #focused() {
    const focused = document.activeElement;
    const finding = this.#parent.contains(focused) && focused?.closest("[data-finding]");
    if (!focused || !finding) return null;
    return { finding: /** @type {HTMLElement} */ (finding).dataset.finding, text: focused.textContent };
  }

  /**
   * Of a finding that is folded now the fold gets it.
   * @param {{finding: string|undefined, text: string|null}} focused
   */
  #focus({ finding, text }) {
    /** @type {NodeListOf<HTMLElement>} */
    const findings = this.#parent.querySelectorAll("[data-finding]");
    const its = [...findings].find((one) => one.dataset.finding === finding);
    /** @type {NodeListOf<HTMLElement>|undefined} */
    const parts = its?.querySelectorAll("summary, button, a");
    const part = [...(parts ?? [])].find((one) => one.textContent === text);
    part?.focus({ preventScroll: true });
    if (part && document.activeElement !== part) this.#markedTitle.focus({ preventScroll: true });
  }

  /** The focus goes to what is there afterwards: its button is not. */
  #reload() {
    const findings = this.#context.answers["/findings"];
    findings.addEventListener("change", () => this.#parent.querySelector("summary")?.focus(), { once: true });
    findings.restart();
    if (this.#view) findings.update(this.#view);
  }

  get summary() {
    const found = this.#context.answers["/findings"].answer?.findings ?? [];
    const count = found.filter(({ mark }) => !mark).length;
    return count ? String(count) : "";
  }

  /** @returns {import("../chart_menu/table.js").Table} */
  table() {
    const found = this.#context.answers["/findings"].answer?.findings ?? [];
    const rows = found.map((one) => [
      one.sentence,
      one.thread_seconds,
      one.wall_seconds,
      one.least_wall_seconds ?? null,
      one.most_wall_seconds ?? null,
      costText(one),
      one.advice,
      one.mark?.marked_as ?? null,
    ]);
    return {
      columns: [
        "finding",
        "seconds of threads",
        "seconds",
        "at least",
        "at most",
        "cost",
        "advice",
        "marked as",
      ],
      rows,
    };
  }
}
