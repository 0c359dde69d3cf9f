// Events that repeat are shown as one: a loop that submits tasks one by one makes thousands.

import { formatCount, formatCountOf } from "../../formatting.js";

/**
 * `detail` is JSON in tiles, and its object in answers; `count` is of one that stands for several.
 * @typedef {{time: number, kind: string, worker: number|null, message: string, detail: string|Record<string, unknown>, count?: number}} RepeatableEvent
 */

const SUBMITTED = "graph-updated";

/**
 * Those in a row that are of one kind and worker and say the same, or are submissions.
 * @template {RepeatableEvent} Event
 * @param {Event[]} events
 * @returns {Event[][]}
 */
export function repeated(events) {
  /** @type {Event[][]} */
  const groups = [];
  for (const event of events) {
    const group = groups[groups.length - 1];
    if (group && isRepeated(group[0], event)) group.push(event);
    else groups.push([event]);
  }
  return groups;
}

/** @param {RepeatableEvent} one @param {RepeatableEvent} other */
function isRepeated(one, other) {
  const isSame = one.kind === other.kind && one.worker === other.worker;
  return isSame && (one.kind === SUBMITTED || one.message === other.message);
}

/**
 * What events that repeat say together.
 * @param {RepeatableEvent[]} group
 * @param {string} label of their kind, where they have no message
 * @returns {string}
 */
export function messageOf(group, label = "") {
  const [{ kind, message }] = group;
  const number = group.reduce((sum, { count }) => sum + (count ?? 1), 0);
  if (number === 1) return message || label;
  if (kind !== SUBMITTED) return `${formatCount(number)}× ${message || label}`;
  const details = group.map(({ detail }) => parsed(detail));
  const tasks = details.reduce((sum, detail) => sum + (Number(detail.tasks) || 0), 0);
  const clients = new Set(details.flatMap(({ client }) => (client ? [client] : []))).size;
  const ofTasks = tasks ? ` with ${formatCountOf(tasks, "task")}` : ""; // without an agent it is unknown
  const byClients = clients > 1 ? ` by ${clients} clients` : "";
  return `${formatCountOf(number, "graph")}${ofTasks} submitted${byClients}`;
}

/** @param {RepeatableEvent["detail"]} detail @returns {Record<string, unknown>} */
function parsed(detail) {
  if (typeof detail !== "string") return detail;
  try {
    return JSON.parse(detail) ?? {};
  } catch {
    return {};
  }
}
