// The header of the cluster: name, status, facts and alerts.

import { formatCount, formatCountOf, formatDuration } from "../../formatting.js";
import { formatWorkers } from "../../timeline/slots.js";
import { formatDate, formatTime, formatUtc, zoneName } from "../../timeline/times.js";
import { UNOBSERVED } from "../../contract.js";
import { element } from "../../element.js";

/** @typedef {import("../../types.js").Context} Context */

const MOST_FLAGS = 3;
/** @type {Record<string, string>} */
const TITLES = {
  live: "The cluster is being recorded",
  idle: "The cluster is being recorded; no task runs or waits",
  behind: "The recording is behind the scheduler's clock",
  unheard: "Nothing comes from its agent or scheduler: it may pause, or be gone",
  disconnected: "No updates arrive from Observatory",
};

/**
 * @param {HTMLElement} parent
 * @param {Context} context
 * @returns {() => void} to be called when something may have changed
 */
export function createHeader(parent, context) {
  const name = element("h1", "cluster-name");
  const status = element("span", "cluster-status");
  const facts = element("span", "cluster-facts");
  const flags = element("span", "flags");
  parent.append(name, status, facts, flags);
  const zone = zoneName();
  let shown = "";

  return () => {
    const { info, model, timeline, alerts, freshness, playheadState } = context;
    const ended = info.ended !== null;
    const length = Math.max(timeline.end - timeline.first, 0);
    const texts = [
      `${formatDate(timeline.first)} ${zone}`,
      formatDuration(ended ? length : Math.floor(length)), // a live one changes once a second
      formatWorkers(model.slots.size, model.workers.size),
      info.task_count === null ? "counting tasks …" : formatCountOf(info.task_count ?? 0, "task"),
    ];
    const isLive = freshness.isReceiving;
    const kind = freshness.status(timeline.live ? playheadState.state : null);
    const state = ended
      ? `${endVerb(info)} ${formatTime(info.ended ?? 0, 0)}${info.end_reason ? ` (${info.end_reason})` : ""}`
      : [isLive ? "live" : "not connected", kind === "idle" ? "idle" : freshness.text]
          .filter(Boolean)
          .join(" · ");
    const text = JSON.stringify([info.name, kind, state, texts, info.error_count, alerts.flags]);
    if (text === shown) return;
    shown = text;
    name.textContent = info.name;
    status.textContent = state;
    status.dataset.status = kind;
    status.title = ended ? formatUtc(info.ended ?? 0) : TITLES[kind];
    facts.replaceChildren(...texts.map((text) => element("span", "", text)));
    facts.title = `Recorded since ${formatUtc(timeline.first)}`;
    if (info.error_count) facts.append(element("span", "danger", formatCountOf(info.error_count, "error")));
    showErrorCount(info.error_count ?? 0);
    flags.replaceChildren(...flagChips(alerts.flags));
    document.title = `${isLive ? "● " : ""}${info.name} · Dask Observatory`;
  };
}

/**
 * @param {Pick<import("../../types.js").ClusterInfo, "end_reason">} info
 * @returns {string}
 */
export function endVerb({ end_reason: reason }) {
  return reason.startsWith(UNOBSERVED) ? "recorded until" : "ended";
}

/**
 * Updates the count of the tab "Errors", which the server rendered when the page was loaded.
 * @param {number} count
 */
function showErrorCount(count) {
  /** @type {HTMLElement | null} */
  const tab = document.querySelector("[data-error-count]");
  if (!tab) return;
  tab.hidden = !count;
  tab.textContent = formatCount(count);
  tab.title = formatCountOf(count, "error");
}

/**
 * The names of what fired, the worst first.
 * @param {import("../../timeline/marks/alerts.js").Flag[]} flags
 */
function flagChips(flags) {
  const chips = flags.slice(0, MOST_FLAGS).map(({ name, severity, count: alerts, isFiring }) => {
    const chip = element(
      "span",
      `flag ${severity}${isFiring ? " is-firing" : ""}`,
      element("span", "hidden", `${severity}: `),
      name,
    );
    chip.title = `${name}: ${severity}, ${formatCountOf(alerts, "alert")}${isFiring ? ", firing now" : ""}`;
    return chip;
  });
  const others = flags.slice(MOST_FLAGS).map((flag) => flag.name);
  if (others.length) {
    const more = element("span", "flag", "…", element("span", "hidden", ` and ${others.length} more`));
    more.title = others.join(", ");
    chips.push(more);
  }
  return chips;
}
