// The name of a worker, as charts show it.

import { workerLabel } from "../../timeline/slots.js";

/**
 * @param {Pick<import("../../types.js").Context, "model">} context
 * @param {number|null} id null: unknown
 */
export function workerName({ model }, id) {
  const worker = model.workers.get(id ?? -1);
  return worker ? workerLabel(worker) : "an unknown worker";
}
