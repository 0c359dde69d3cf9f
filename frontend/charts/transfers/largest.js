// The largest transfers of the window as a table, with the tasks that waited for them. A click goes to the task and the moment.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatDuration } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { tableChart } from "../data_table/table_chart.js";
import { goToTask } from "../side_list/items.js";
import { workerName } from "../worker/name.js";
import { formatRate, isOfSelection, missingText } from "./names.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["LargeTransfer"]} Transfer */

export const largestTransfers = tableChart({
  name: "largest-transfers",
  title: "Largest transfers",
  help:
    "The fifty largest transfers of the window, or those of them that the selected worker sent or received, with the task that waited " +
    "for the data. Click one to go to that task and moment; open it to see the keys that moved.",
  columns,
  options: (context) => ({
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
    choose: (transfer) => goTo(context, transfer),
    isChosen: ({ waiting }) => waiting !== null && waiting === context.selection.key,
    open: keysOf,
  }),
  basis: ({ features, selection, model }, view) => {
    const transfers = features.of(Transfers);
    transfers.show(view, selection.worker);
    return [transfers.answer, transfers.message, selection.worker, selection.key, model.version];
  },
  rows: (context) =>
    (context.features.of(Transfers).answer?.largest ?? []).filter(({ sender, receiver }) =>
      isOfSelection(context, sender, receiver),
    ),
  message: missingText,
});

/** @param {Context} context @param {Transfer} transfer */
function goTo(context, { waiting, prefix, start }) {
  if (waiting === null) return context.timeline.jump(start);
  goToTask(context, { key: waiting, prefix }, start);
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
