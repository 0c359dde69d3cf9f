// Banners: nothing recorded yet, connection lost, event stream stolen, data missing.

import { formatCount, formatCountOf } from "../../formatting.js";
import { formatDate, zoneName } from "../../timeline/times.js";
import { fetchedHistory } from "../../timeline/sources/fetched_history.js";
import { TAKEN_STREAMS, UNOBSERVED } from "../../contract.js";
import { element } from "../../element.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {{kind: "info"|"warning"|"danger", text: string}} Banner */

/** @type {Record<string, string>} by the stream's state */
const STREAM = {
  ...TAKEN_STREAMS,
  closed: "The scheduler's event stream is closed. No tasks are recorded until it is open again.",
};

export class Banners {
  #element;
  #context;
  #shown = "";

  /**
   * @param {HTMLElement} element
   * @param {Context} context
   */
  constructor(element, context) {
    this.#element = element;
    this.#context = context;
  }

  draw() {
    const banners = this.#current();
    const text = JSON.stringify(banners);
    if (text === this.#shown) return;
    this.#shown = text;
    this.#element.replaceChildren(
      ...banners.map((banner) => element("p", `banner ${banner.kind}`, banner.text)),
    );
  }

  /** @returns {Banner[]} */
  #current() {
    const { info, tiles, freshness } = this.#context;
    const live = info.ended === null;
    /** @type {Banner[]} */
    const banners = [];
    if (!live && info.is_whole) {
      banners.push({ kind: "info", text: endText(info, `${formatDate(info.ended ?? 0)} ${zoneName()}`) });
    }
    if (live && freshness.refused) {
      banners.push({ kind: "danger", text: `Live updates were refused: ${freshness.refused}` });
    } else if (live && freshness.connected === false) {
      banners.push({
        kind: "warning",
        text: "The connection to Observatory is lost; reconnecting. The page is not live.",
      });
    }
    if (live && info.target && STREAM[info.target.stream]) {
      banners.push({ kind: "warning", text: STREAM[info.target.stream] });
    }
    if (live && info.target?.last_error) {
      banners.push({ kind: "warning", text: `The scheduler could not be read: ${info.target.last_error}` });
    }
    for (const message of info.not_recorded)
      banners.push({ kind: "warning", text: `Not all metrics are recorded: ${message}.` });
    banners.push(
      ...leftOut(this.#context.model.leftOut).map((text) => ({ kind: /** @type {const} */ ("info"), text })),
    );
    if (fetchedHistory.message) banners.push({ kind: "info", text: fetchedHistory.message });
    if (tiles.problem) banners.push({ kind: "danger", text: tiles.problem });
    if (info.task_count === 0) banners.push({ kind: "info", text: this.#empty(live) });
    return banners;
  }

  /** @param {boolean} live */
  #empty(live) {
    const { info, model } = this.#context;
    if (!live) return noTasks(info);
    const { workers } = model;
    if (!workers.size) return "Connected to the scheduler; waiting for its first worker.";
    return "Connected to the scheduler; waiting for its first task. Tasks appear here within a second.";
  }
}

/**
 * @param {Pick<import("../../types.js").ClusterInfo, "end_reason">} info
 * @param {string} when
 * @returns {string}
 */
export function endText({ end_reason: reason }, when) {
  const text = reason.startsWith(UNOBSERVED)
    ? `Recorded until ${when}, and ${reason}. The cluster may have gone on.`
    : `This cluster ended at ${when}.`;
  return `${text} Everything that was recorded can be replayed.`;
}

/**
 * Of what has ended and has no computation. An agent also records tasks that never finished.
 * @param {Pick<import("../../types.js").ClusterInfo, "is_whole" | "has_agent" | "error_count">} info
 * @returns {string}
 */
export function noTasks(info) {
  const what = info.is_whole ? "cluster" : "run";
  if (!info.has_agent) return `No tasks were recorded in this ${what}.`;
  if (info.error_count)
    return `No task finished in this ${what}: ${formatCountOf(info.error_count, "attempt")} failed.`;
  return `No task finished in this ${what}. If any were submitted, they were cancelled or did not end: Why? tells what they did.`;
}

/**
 * What the page doesn't list, in sentences.
 * @param {import("../../timeline/model.js").LeftOut} counts
 * @returns {string[]}
 */
export function leftOut({ prefixes, ...others }) {
  const said = Object.entries(others)
    .filter(([, count]) => count)
    .map(([what, count]) => `${formatCount(count)} ${what}`);
  return [
    ...(prefixes
      ? [
          `${formatCount(prefixes)} prefixes with less computing time than the others are grey. Point at one to see its name.`,
        ]
      : []),
    ...(said.length
      ? [`There are more workers than a page can show. Of the oldest, ${said.join(", ")} are left out.`]
      : []),
  ];
}
