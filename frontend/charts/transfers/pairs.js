// Who sent how much to whom, and how fast, as a table of pairs.

import { formatBytes, formatCount, formatDuration } from "../../formatting.js";
import { tableChart } from "../data_table/table_chart.js";
import { bandwidthOf, formatRate, isOfSelection, missingText, partText, placeName } from "./names.js";
import { bySlot } from "./slot_pairs.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["TransferCell"]} Cell */
/** @typedef {import("../../types.js").Schemas["TransferPlace"]} Place */
/** `from`, `to`: names of the places. @typedef {{cell: Cell, from: string, to: string, sender: Place, receiver: Place}} Pair */

export const transferPairs = tableChart({
  name: "transfer-pairs",
  title: "Bandwidth by peer",
  help:
    "Pairs of senders and receivers, or those of the selected worker: how many bytes moved, in how many transfers, and at which bandwidth. " +
    "The bandwidth is the bytes divided by the time of all transfers of the pair. Click one to select its receiver.",
  columns: () => COLUMNS,
  options: (context) => ({
    label: "pairs of workers",
    empty: "The selected worker neither sent nor received.",
    key: ({ sender, receiver }) => JSON.stringify([sender, receiver]),
    find: ({ from, to }) => `${from} ${to}`,
    sorted: "nbytes",
    choose: ({ receiver, sender }) => context.selection.set({ worker: receiver.worker ?? sender.worker }),
    isChosen: ({ receiver }) =>
      receiver.worker !== null &&
      isOfSelection(context, receiver.worker) &&
      context.selection.worker !== null,
  }),
  basis: ({ features, selection, model }, view) => {
    const transfers = features.of(Transfers);
    transfers.show(view, selection.worker);
    return [transfers.answer, transfers.message, selection.worker, model.version];
  },
  rows: pairsOf,
  message: missingText,
  note: partText,
});

/** @param {Context} context @returns {Pair[]} */
function pairsOf(context) {
  const { answer } = context.features.of(Transfers);
  if (!answer || missingText(context)) return [];
  const nameOf = (/** @type {Place} */ place) => placeName(context, place);
  const { places, cells } = bySlot(answer, context.model, nameOf);
  const pairs = cells.map((cell) => {
    const [sender, receiver] = [places[cell.sender], places[cell.receiver]];
    return { cell, sender, receiver, from: nameOf(sender), to: nameOf(receiver) };
  });
  const isByHost = places.some(({ kind }) => kind === "host");
  return isByHost
    ? pairs
    : pairs.filter(({ sender, receiver }) => isOfSelection(context, sender.worker, receiver.worker));
}

/** @type {import("../data_table/data_table.js").Column<Pair>[]} */
const COLUMNS = [
  { name: "pair", title: "from → to", value: ({ from, to }) => `${from} → ${to}` },
  {
    name: "nbytes",
    title: "moved",
    unit: "bytes",
    value: ({ cell }) => (cell.unsized === cell.count ? null : cell.nbytes),
    text: ({ cell }) => formatBytes(cell.nbytes),
  },
  {
    name: "count",
    title: "transfers",
    value: ({ cell }) => cell.count,
    text: ({ cell }) => formatCount(cell.count),
  },
  {
    name: "seconds",
    title: "took",
    unit: "s",
    help: "The time of all transfers of the pair together",
    value: ({ cell }) => cell.seconds,
    text: ({ cell }) => formatDuration(cell.seconds),
  },
  {
    name: "bandwidth",
    title: "bandwidth",
    unit: "bytes/s",
    help: "Bytes over that time",
    value: ({ cell }) => bandwidthOf(cell),
    text: ({ cell }) => formatRate(bandwidthOf(cell) ?? 0),
  },
];
