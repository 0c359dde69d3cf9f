// The largest transfers of the window as a table, with the tasks that waited for them. A click goes to the task and the moment.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { Shown } from "../drawing/shown.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { formatRate, isOfSelection, missingText } from "./names.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["LargeTransfer"]} Transfer */

/** @type {Chart} */
export const largestTransfers = {
  name: "largest-transfers",
  title: "Largest transfers",
  place: "below",
  layers: [],
  help:
    "The fifty largest transfers of the window, or those of them that the selected worker sent or received, with the task that waited " +
    "for the data. Click one to go to that task and moment; open it to see the keys that moved.",
  create: (parent, context) => new LargestTransfers(parent, context),
};

class LargestTransfers {
  #parent;
  #context;
  /** @type {DataTable<Transfer>} */
  #table;
  #shown = new Shown();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#table = new DataTable(parent, columns(context), {
      label: "largest transfers",
      empty: "The selected worker has none of the largest transfers.",
      key: ({ start, sender, receiver, keys }) => `${start} ${sender} ${receiver} ${keys[0]?.key}`,
      find: ({ keys, waiting, sender, receiver }) =>
        [
          ...keys.map(({ key }) => key),
          waiting,
          workerName(context, sender),
          workerName(context, receiver),
        ].join(" "),
      sorted: "nbytes",
      choose: (transfer) => this.#go(transfer),
      isChosen: ({ waiting }) => waiting !== null && waiting === context.selection.key,
      open: keysOf,
    });
  }

  destroy() {
    this.#parent.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    const { selection, model } = this.#context;
    const transfers = this.#context.features.of(Transfers);
    transfers.show(view, selection.worker);
    if (
      !this.#shown.changes(
        transfers.answer,
        transfers.message,
        selection.worker,
        selection.key,
        model.version,
      )
    )
      return;
    const all = transfers.answer?.largest ?? [];
    const rows = all.filter(({ sender, receiver }) => isOfSelection(this.#context, sender, receiver));
    this.#table.show(rows, missingText(this.#context));
  }

  table() {
    return this.#table.table();
  }

  /** @param {Transfer} transfer */
  #go({ waiting, prefix, start }) {
    if (waiting === null) return this.#context.timeline.jump(start);
    goToTask(this.#context, { key: waiting, prefix }, start);
  }
}

/**
 * @param {Context} context
 * @returns {import("../data_table/data_table.js").Column<Transfer>[]}
 */
function columns(context) {
  const seconds = (/** @type {Transfer} */ { start, stop }) => microseconds(stop - start);
  return [
    { name: "data", title: "data", value: nameOf },
    { name: "from", title: "from", value: ({ sender }) => workerName(context, sender) },
    { name: "to", title: "to", value: ({ receiver }) => workerName(context, receiver) },
    { name: "nbytes", title: "size", unit: "bytes", value: ({ nbytes }) => nbytes, text: ({ nbytes }) => formatBytes(nbytes) },
    { name: "seconds", title: "took", unit: "s", value: seconds, text: (transfer) => formatDuration(seconds(transfer)) },
    {
      name: "bandwidth", title: "bandwidth", unit: "bytes/s",
      value: (transfer) => (seconds(transfer) > 0 ? Math.round(transfer.nbytes / seconds(transfer)) : null),
      text: (transfer) => formatRate(transfer.nbytes / seconds(transfer)),
    },
    { name: "waiting", title: "waiting task", help: "The task that the data was fetched for", value: ({ waiting }) => waiting ?? "", text: ({ waiting }) => waiting ?? "–" },
    {
      name: "start", title: "began", value: ({ start }) => isoTime(start), text: ({ start }) => formatTime(start, 3),
    },
  ]; // prettier-ignore
}

/** @param {Transfer} transfer */
function nameOf({ keys, count }) {
  const [first] = keys;
  if (!first) return "unknown keys";
  return count > 1 ? `${first.key} and ${formatCount(count - 1)} more` : first.key;
}

/** @param {Transfer} transfer */
function keysOf({ keys, count }) {
  const list = element("ul", "transfer-keys");
  for (const { key, nbytes } of keys) {
    list.append(
      element("li", "", key, element("span", "muted", nbytes === null ? "" : ` ${formatBytes(nbytes)}`)),
    );
  }
  if (count > keys.length)
    list.append(element("li", "muted", `and ${formatCount(count - keys.length)} more`));
  return list;
}
