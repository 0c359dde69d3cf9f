// Events that repeat are shown as one: a loop that submits tasks one by one makes thousands.

import { EVENT_KINDS } from "../../contract.js";
import { formatCount, formatCountOf } from "../../formatting.js";

/**
 * `detail` is JSON in tiles, and its object in answers; `count` is of one that stands for several.
 * @typedef {{time: number, kind: string, worker: number|null, message: string, detail: string|Record<string, unknown>, count?: number}} RepeatableEvent
 */

const SUBMITTED = "graph-updated";
/** @type {Record<string, {is_routine: boolean}>} */
const KINDS = EVENT_KINDS;

/**
 * Those that repeat: of one kind and worker, and saying the same, as submissions always do. Of a kind that is of routine
 * it may be any since the last event that isn't; of another kind the one right before. The server does so as well.
 * @template {RepeatableEvent} Event
 * @param {Event[]} events
 * @returns {Event[][]}
 */
export function repeated(events) {
  /** @type {Event[][]} */
  const groups = [];
  /** @type {Map<string, Event[]>} since the last event that isn't of routine */
  let open = new Map();
  let last = "";
  for (const event of events) {
    const { kind, worker, message } = event;
    const says = `${kind} ${worker ?? ""} ${kind === SUBMITTED ? "" : message}`;
    if (!KINDS[kind]?.is_routine && says !== last) open = new Map();
    last = says;
    const group = open.get(says);
    if (group) {
      group.push(event);
      continue;
    }
    groups.push([event]);
    open.set(says, groups[groups.length - 1]);
  }
  return groups;
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
