// Names of what the charts of transfers show, and why they show nothing.

import { formatBytes, formatCountOf, formatDuration } from "../../formatting.js";
import { workerName } from "../worker/name.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["TransferPlace"]} Place */
/** @typedef {import("../../types.js").Schemas["TransferSums"]} Sums */

export const STOCK = "Dask's stock endpoints don't tell who sent what to whom. The agent adds it.";
const NONE = "No data moved between workers in this window.";

/**
 * @param {Context} context
 * @param {Place} place
 */
export function placeName(context, { kind, worker, host }) {
  return kind === "worker" ? workerName(context, worker) : (host ?? kind);
}

/** @param {number} bytes in a second */
export function formatRate(bytes) {
  return `${formatBytes(Math.round(bytes))}/s`;
}

/** @param {Sums} sums @returns {number|null} bytes in a second of transfer; null: unknown */
export function bandwidthOf({ nbytes, seconds, unsized }) {
  return unsized || !nbytes || seconds <= 0 ? null : nbytes / seconds;
}

/**
 * Why there are no transfers to show; empty: there are.
 * @param {Context} context
 */
export function missingText({ features, info }) {
  const { answer, message } = features.of(Transfers);
  if (!answer) return message;
  const { count, unsized, seconds } = answer.total;
  if (count > unsized) return "";
  if (unsized) {
    return `${formatCountOf(unsized, "transfer")} took ${formatDuration(seconds)} in all. ${STOCK}`;
  }
  return info.has_agent ? NONE : STOCK;
}

/**
 * What is left out where only a part of the transfers is known by more than its time, or what a file has; else empty.
 * @param {Context} context
 */
export function partText({ features, source }) {
  const { answer } = features.of(Transfers);
  if (answer && source.url === "") return "A file has the transfers of the whole run, whatever the window.";
  if (!answer || !answer.total.unsized || answer.total.count === answer.total.unsized) return "";
  return `Without ${formatCountOf(answer.total.unsized, "transfer")} from before the agent reported: their senders and sizes are unknown.`;
}

/**
 * Whether something between two workers concerns the selected one, or there is none.
 * @param {Context} context
 * @param {...(number|null)} workers ids
 */
export function isOfSelection({ model, selection }, ...workers) {
  const chosen = model.slotOf(selection.worker)?.key;
  return chosen === undefined || workers.some((id) => model.slotOf(id)?.key === chosen);
}
