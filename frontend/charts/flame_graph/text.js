// The texts of a flame graph: heading, tooltip of a frame, and why it is empty.

import { formatCount, formatCountOf, formatDuration, formatPercent } from "../../formatting.js";
import { newest, slotLabel } from "../../timeline/slots.js";
import { digitsFor, formatTime } from "../../timeline/times.js";
import { unloadedWithin } from "../drawing/unloaded.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Wanted} Wanted */

const USUAL_INTERVAL = 0.01; // s between two samples of a thread: Dask's distributed.worker.profile.interval

/**
 * @param {number} part
 * @param {number} whole
 */
export function share(part, whole) {
  return formatPercent(part / Math.max(whole, 1));
}

/** @param {number} count */
export function samples(count) {
  return formatCountOf(count, "sample");
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
  const lines = [["samples", `${formatCount(node.total)} · ${share(node.total, root.total)}`]];
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
 * Whose samples are wanted: "tasks of prefix inc on worker tcp://…".
 * @param {Context} context
 * @param {Wanted} wanted
 */
function subject({ model }, wanted) {
  if (wanted.source === "scheduler") return "the scheduler's event loop";
  const { slot } = wanted;
  const name = slot && (slot.lifetimes.length > 1 ? slotLabel(slot) : newest(slot).address);
  // a public link that hides addresses calls it "worker 3"
  const worker = name?.startsWith("worker ") ? name : `worker ${name}`;
  if (wanted.source === "workers") return slot ? `the event loop of ${worker}` : "the workers' event loops";
  const prefix = wanted.prefix === null ? "tasks" : `tasks of prefix ${model.prefixName(wanted.prefix)}`;
  return slot ? `${prefix} on ${worker}` : `${prefix} on all workers`;
}

/**
 * @param {View} view
 * @returns {string} "12:01:10–12:03:41"
 */
function windowOf(view) {
  const digits = digitsFor(view.stop - view.start);
  return `${formatTime(view.start, digits)}–${formatTime(view.stop, digits)}`;
}

/**
 * @param {Context} context
 * @param {View} view
 * @param {Wanted} wanted
 * @param {number} total samples
 */
export function heading(context, view, wanted, total) {
  const missing = unloadedWithin(view.unloaded.profile ?? [], view.start, view.stop);
  const rest = missing ? ` · a part is ${missing.message}` : "";
  return `${samples(total)} of ${subject(context, wanted)}, ${windowOf(view)}${rest}`;
}

/**
 * Why there is nothing to see, and what to do about it.
 * @param {Context} context
 * @param {View} view
 * @param {Wanted} wanted
 */
export function emptiness(context, view, wanted) {
  if (!context.info.has_agent) {
    return "Profiles need the agent, which isn't installed on this cluster: see docs/agent.md.";
  }
  const missing = unloadedWithin(view.unloaded.profile ?? [], view.start, view.stop);
  if (missing) return `The profile is ${missing.message}`;
  const nothing = `No samples of ${subject(context, wanted)} in ${windowOf(view)}.`;
  if (wanted.source !== "tasks") {
    return `${nothing} Dask takes about one sample a second of an event loop, and none on Python 3.11: choose a longer window.`;
  }
  const isSelected = wanted.slot !== null || wanted.prefix !== null;
  return `${nothing} Choose a window in which tasks ran${isSelected ? ", or clear the selection" : ""}.`;
}
