// The labels of workers: what people called them, their resources, release and machine; and their hosts, which every worker has.

import { sortedByName } from "../name_order.js";

/** @typedef {import("../types.js").Worker} Worker */

export const HOST = "host";
const UNKNOWN = "unknown";

/** @param {Worker} worker */
export function hostOfWorker(worker) {
  return worker.host || worker.address.replace(/^\w+:\/\/|:\d+$/g, "");
}

/**
 * @param {Worker} worker
 * @param {string} label "host" or a tag
 * @returns {string} its value; "unknown" without the label
 */
export function valueOf(worker, label) {
  if (label === HOST) return hostOfWorker(worker);
  const tags = worker.tags ?? {};
  return Object.hasOwn(tags, label) ? tags[label] : UNKNOWN;
}

/**
 * The labels by which workers can be told apart: what not all of them have in common.
 * @param {Worker[]} workers
 * @returns {string[]} the host first
 */
export function labelsOf(workers) {
  const tags = new Set(workers.flatMap((worker) => Object.keys(worker.tags ?? {})));
  return [HOST, ...[...tags].sort()].filter(
    (label) => new Set(workers.map((worker) => valueOf(worker, label))).size > 1,
  );
}

/**
 * @param {Worker[]} workers
 * @param {string} label
 * @returns {string[]} in order, "unknown" last
 */
export function valuesOf(workers, label) {
  const rank = (/** @type {string} */ value) => Number(value === UNKNOWN && label !== HOST);
  const values = new Set(workers.map((worker) => valueOf(worker, label)));
  return sortedByName(values, (value) => value).sort((one, other) => rank(one) - rank(other));
}

/** @param {Worker} worker; "version=a, zone=x" */
export function writtenLabels(worker) {
  return Object.entries(worker.tags ?? {})
    .map(([label, value]) => `${label}=${value}`)
    .join(", ");
}
