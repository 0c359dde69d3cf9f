// The card below the track of alerts: what the selected alert means and what to do.

import { formatDuration } from "../../formatting.js";
import { element } from "../../element.js";
import { SITE } from "../../site.js";
import { stateOf, subjectOf } from "../../timeline/marks/alerts.js";
import { formatDate, formatTime } from "../../timeline/times.js";

/** @typedef {import("../../timeline/marks/alerts.js").Alert} Alert */
/** @typedef {import("../../types.js").Context} Context */

/** @param {Alert} alert @returns {string} "12:00:01.0 – 12:04:10.0 (4 min 9 s)" */
export function timesOf(alert) {
  const from = alert.fired ?? alert.pending;
  const since = alert.fired === null ? "pending since " : "";
  if (alert.resolved === null) return `${since}${formatTime(from, 1)} – now`;
  return `${since}${formatTime(from, 1)} – ${formatTime(alert.resolved, 1)} (${formatDuration(alert.resolved - from)})`;
}

/**
 * Moves the playhead to the alert, selects its worker and opens the card.
 * @param {Context} context
 * @param {Alert} alert
 */
export function openAlert({ alerts, timeline, selection, model }, alert) {
  timeline.jump(alert.fired ?? alert.pending);
  if (model.workers.has(alert.worker ?? -1)) selection.set({ worker: alert.worker });
  alerts.select(alert);
}

export class AlertCard {
  #context;
  #element = element("section", "alert-card");

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#context = context;
    this.#element.tabIndex = -1;
    this.#element.hidden = true;
    // clicks and keys in the card must not move the playhead or the window
    for (const kind of ["click", "dblclick", "pointerdown"]) {
      this.#element.addEventListener(kind, (event) => event.stopPropagation());
    }
    this.#element.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.#close(event);
    });
    parent.append(this.#element);
  }

  /** @param {Alert|null} alert */
  show(alert) {
    const takesFocus = this.#element.hidden || this.#element.contains(document.activeElement);
    this.#element.hidden = alert === null;
    if (alert === null) return;
    this.#element.setAttribute("aria-label", `Alert: ${alert.rule}`);
    this.#element.replaceChildren(...this.#content(alert));
    if (takesFocus) this.#element.focus({ preventScroll: true });
  }

  /** @param {Alert} alert */
  #content(alert) {
    const close = element("button", "icon-button alert-card-close", "✕");
    close.type = "button";
    close.setAttribute("aria-label", "Close");
    close.addEventListener("click", (event) => this.#close(event));
    const state = `${alert.severity}, ${stateOf(alert)}`;
    const head = element(
      "div",
      "alert-card-head",
      element("strong", "", alert.rule),
      element("span", `severity ${alert.severity}`, state),
      close,
    );
    const subject = subjectOf(alert);
    const when = element("p", "muted", [subject, timesOf(alert)].filter(Boolean).join(" · "));
    when.title = formatDate(alert.fired ?? alert.pending);
    const meaning = this.#context.alerts.meaning(alert);
    const texts = [alert.message, meaning?.description, meaning?.advice].filter((text) => text);
    return [head, when, ...texts.map((text) => element("p", "", text ?? "")), ...this.#answers(alert)];
  }

  /** @param {Alert} alert */
  #answers(alert) {
    const lines = [];
    if (alert.acknowledged_by) {
      const note = alert.acknowledgement ? `: ${alert.acknowledgement}` : "";
      lines.push(element("p", "muted", `Assignee: ${alert.acknowledged_by}${note}`));
    }
    if (alert.id !== undefined && this.#context.source.pages !== null) {
      const link = element("a", "button", "Open the alert");
      link.href = `${SITE}/alerts/${alert.id}/`;
      lines.push(element("p", "", link));
    }
    return lines;
  }

  /** @param {Event} event */
  #close(event) {
    event.stopPropagation();
    this.#context.alerts.select(null);
  }
}
