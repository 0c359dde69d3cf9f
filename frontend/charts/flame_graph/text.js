// The texts of a flame graph: heading, tooltip of a frame, and why it is empty.

import {
  formatCount,
  formatCountOf,
  formatDifference,
  formatDuration,
  formatPercent,
} from "../../formatting.js";
import { newest, slotLabel } from "../../timeline/slots.js";
import { formatWindow } from "../../timeline/times.js";
import { unloadedWithin } from "../drawing/unloaded.js";

/** @typedef {import("./difference.js").Shares} Shares */
/** @typedef {import("./sides.js").Origin} Origin */
/** @typedef {import("./sides.js").Profile} Profile */
/** @typedef {import("./sides.js").Side} Side */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Wanted} Wanted */

const FEW = 0.02; // of the samples: live, some are always new
const REFUSED = "native-profile-refused"; // kind of event
const USUAL_INTERVAL = 0.01; // s between two samples of a thread: Dask's distributed.worker.profile.interval

/**
 * @param {number} part
 * @param {number} whole
 */
export function share(part, whole) {
  return formatPercent(part / Math.max(whole, 1));
}

/**
 * @param {number} count
 * @param {Wanted["source"]} source those of attached files are microseconds
 */
export function samples(count, source) {
  return source === "files" ? formatDuration(count / 1e6) : formatCountOf(count, "sample");
}

/**
 * @param {string} file
 * @returns {string} its name and its folder's
 */
export function shortFile(file) {
  return file.split(/[\\/]/).slice(-2).join("/");
}

/** @param {Node} node */
export function nameOf(node) {
  return node.of ? node.of.name || "unnamed function" : "all samples";
}

/**
 * Where a frame was: its file and the line that was seen most.
 * @param {Node} node
 */
export function placeOf(node) {
  const lines = [...node.lines].sort((one, other) => other[1] - one[1]).map(([line]) => line);
  const more = lines.length > 1 ? ` and ${lines.length - 1} more line${lines.length > 2 ? "s" : ""}` : "";
  return node.of ? `${node.of.file}:${lines[0]}${more}` : "";
}

/**
 * The lines of a frame's tooltip.
 * @param {Node} node
 * @param {Node} root
 * @param {Node} focus
 * @param {Wanted} wanted
 * @returns {[string, string][]}
 */
export function describeNode(node, root, focus, wanted) {
  /** @type {[string, string][]} */
  const lines = [amount(node.total, root.total, wanted.source)];
  if (focus !== root) lines.push([`of ${nameOf(focus)}`, share(node.total, focus.total)]);
  if (node.of) {
    lines.push(["itself", share(node.own, root.total)]);
    lines.unshift(["at", placeOf(node)]);
  }
  if (wanted.source === "tasks") {
    lines.push(["time", `≈ ${formatDuration(node.total * USUAL_INTERVAL)}, at Dask's usual 10 ms a sample`]);
  }
  return lines;
}

/**
 * @param {number} part
 * @param {number} whole
 * @param {Wanted["source"]} source
 * @returns {[string, string]}
 */
function amount(part, whole, source) {
  const isTime = source === "files";
  const text = isTime ? samples(part, source) : formatCount(part);
  return [isTime ? "time" : "samples", `${text} · ${share(part, whole)}`];
}

/**
 * The lines of a frame's tooltip about another profile.
 * @param {Shares} shares
 * @param {{drawn: string, other: string, total: number, source: Wanted["source"]}} profiles their names, and samples of the drawn one
 * @returns {[string, string][]}
 */
export function describeDifference({ here, there, difference }, profiles) {
  const seconds = secondsOf(difference, profiles);
  const time = seconds === null ? "" : ` ≈ ${formatDifference(seconds, "seconds")} of ${profiles.drawn}`;
  return [
    [profiles.drawn, formatPercent(here)],
    [profiles.other, formatPercent(there)],
    ["difference", formatDifference(difference, "share") + time],
  ];
}

/**
 * @param {number} share of the samples
 * @param {{total: number, source: Wanted["source"]}} drawn
 * @returns {number|null} of a thread, at the usual interval; null: event loops are sampled at another one
 */
export function secondsOf(share, { total, source }) {
  return source === "tasks" ? share * total * USUAL_INTERVAL : null;
}

/**
 * Whose samples are wanted: "tasks of prefix inc on worker tcp://…".
 * @param {Origin} origin
 * @param {Wanted} wanted
 */
function subject({ model }, wanted) {
  if (wanted.source === "scheduler") return "the scheduler's event loop";
  const { slot } = wanted;
  const name = slot && (slot.lifetimes.length > 1 ? slotLabel(slot) : newest(slot).address);
  // a public link that hides addresses calls it "worker 3"
  const worker = name?.startsWith("worker ") ? name : `worker ${name}`;
  if (wanted.source === "files") return slot ? `attached files of ${worker}` : "attached files";
  if (wanted.source === "workers") return slot ? `the event loop of ${worker}` : "the workers' event loops";
  const stacks = wanted.source === "native" ? "native stacks of " : "";
  const prefix = `${stacks}tasks${wanted.prefix === null ? "" : ` of prefix ${model.prefixName(wanted.prefix)}`}`;
  return slot ? `${prefix} on ${worker}` : `${prefix} on all workers`;
}

/** @param {Side} side */
function loadingPart({ unloaded, start, stop }) {
  return unloadedWithin(unloaded, start, stop);
}

/** @param {Profile} profile */
function extentOf({ side }) {
  const missing = loadingPart(side);
  return `${formatWindow(side)}${missing ? ` · a part is ${missing.message}` : ""}`;
}

/**
 * What is drawn, and what it is compared with.
 * @param {Profile} drawn
 * @param {Profile|null} other
 */
export function heading(drawn, other) {
  const [unnamed, total] = [
    drawn.unnamed + (other?.unnamed ?? 0),
    drawn.root.total + (other?.root.total ?? 0),
  ];
  const loading = unnamed > total * FEW ? ` · loading the stacks of ${share(unnamed, total)} of them` : "";
  const { origin, wanted } = drawn.side;
  const shown = `${samples(drawn.root.total, wanted.source)} of ${subject(origin, wanted)}, ${extentOf(drawn)}${loading}`;
  if (!other) return shown;
  const compared = `compared with ${other.side.name}: ${samples(other.root.total, wanted.source)}, ${extentOf(other)}`;
  return `${shown} · ${compared}. Compared are shares of the samples, as the windows may differ in length.`;
}

/**
 * Why there is nothing to see, and what to do about it.
 * @param {Side} side
 */
export function emptiness(side) {
  const { origin, wanted } = side;
  if (wanted.source === "files")
    return (
      origin.answers?.["/attached-profiles"].message ||
      `Nothing of ${subject(origin, wanted)} lies in ${formatWindow(side)}.`
    );
  if (!origin.info.has_agent) {
    return "Profiles need the agent, which isn't installed on this cluster: see docs/agent.md.";
  }
  const missing = loadingPart(side);
  if (missing) return `The profile is ${missing.message}`;
  const nothing = `No samples of ${subject(origin, wanted)} in ${formatWindow(side)}.`;
  if (wanted.source === "native") return `${nothing} ${nativeHint(origin)}`;
  if (wanted.source !== "tasks") {
    return `${nothing} Dask takes about one sample a second of an event loop, and none on Python 3.11: choose a longer window.`;
  }
  const isSelected = wanted.slot !== null || wanted.prefix !== null;
  return `${nothing} Choose a window in which tasks ran${isSelected ? ", or clear the selection" : ""}.`;
}

/** @param {Origin} origin */
function nativeHint({ events }) {
  const refused = events?.list.findLast(({ kind }) => kind === REFUSED);
  if (refused) return `The agent tells: ${refused.message}.`;
  return "The agent takes them for a second of ten while tasks run, with the setting observatory.native-profile and py-spy beside the workers: see docs/agent.md.";
}

/**
 * Why there is nothing to compare with.
 * @param {Side} side
 */
export function nothingToCompare(side) {
  return `Nothing to compare with in ${side.name}. ${side.missing || emptiness(side)}`;
}

/**
 * What a screen reader says of a frame.
 * @param {Node} node
 * @param {Node} root
 * @param {Wanted["source"]} source
 * @param {[string, string][]} compared its lines about the other profile
 */
export function sayNode(node, root, source, compared) {
  const where = node.of ? `, ${placeOf(node)}` : "";
  const against = compared.map((line) => `, ${line.join(" ")}`).join("");
  return `${nameOf(node)}${where}: ${samples(node.total, source)}, ${share(node.total, root.total)}${against}`;
}
