// The P2P shuffles of the window, with what each had moved at the playhead.

import { element } from "../../element.js";
import { formatBytes, formatDuration, formatPercent } from "../../formatting.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime, microseconds } from "../chart_menu/table.js";
import { tableChart } from "../data_table/table_chart.js";
import { Transfers } from "./data.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["ShuffleProgress"]} Shuffle */

/**
 * A shuffle at the playhead. Bytes; null: not reported. `share` of what workers had received in the end, by then.
 * @typedef {{shuffle: Shuffle, sent: number|null, received: number|null, written: number|null, read: number|null, moved: number|null, share: number|null}} Moved
 */

const STOCK = "Dask's stock endpoints don't tell of P2P shuffles. The agent adds them.";

export const shuffles = tableChart({
  name: "shuffles",
  title: "P2P shuffles",
  help:
    "The P2P shuffles and rechunks of the window: what each had moved between workers and through their disks at the playhead, and in all " +
    "by the window's end. Workers report shuffles in their heartbeats. Of a shuffle that ended before the next heartbeat, the data that they sent each other is shown. Click one to go to its start.",
  columns: () => COLUMNS,
  options: ({ timeline }) => ({
    label: "P2P shuffles",
    empty: "There was no P2P shuffle in this window.",
    key: ({ shuffle }) => shuffle.shuffle,
    find: ({ shuffle }) => `${shuffle.name} ${shuffle.code} ${shuffle.shuffle}`,
    choose: ({ shuffle }) => timeline.jump(shuffle.first),
  }),
  basis: (context, view) => {
    const transfers = context.features.of(Transfers);
    transfers.show(view, context.selection.worker);
    const amounts = shufflesAt(context, view).map(({ shuffle, ...moved }) => [
      shuffle.shuffle,
      shuffle.last,
      moved,
    ]);
    return [JSON.stringify(amounts), transfers.message];
  },
  rows: shufflesAt,
  message: ({ features, info }) => {
    const { answer, message } = features.of(Transfers);
    return answer ? (info.has_agent ? "" : STOCK) : message;
  },
  note: () => "Bytes sent, received, written and read, up to the playhead.",
});

/** @param {Context} context @param {View} view */
function shufflesAt({ features }, { playhead }) {
  const { answer } = features.of(Transfers);
  return (answer?.shuffles ?? []).map((shuffle) => movedBy(shuffle, playhead));
}

/**
 * @param {Shuffle} shuffle
 * @param {number} time
 * @returns {Moved}
 */
export function movedBy(shuffle, time) {
  const amount = (/** @type {string} */ medium, /** @type {string} */ what) =>
    shuffle.amounts.find((one) => one.medium === medium && one.what === what) ?? null;
  const at = (/** @type {string} */ medium, /** @type {string} */ what) => {
    const found = amount(medium, what);
    return found && (found.progress.findLast(([when]) => when <= time)?.[1] ?? 0);
  };
  // heartbeats have what stays on a worker as well, but may come after the last bytes, or never
  const isWhole = (amount("comm", "read")?.nbytes ?? 0) >= (amount("comm", "exchanged")?.nbytes ?? 0);
  const [read, written] = isWhole ? ["read", "written"] : ["exchanged", "exchanged"];
  const received = at("comm", read);
  const moved = amount("comm", read)?.nbytes ?? null;
  const share = received === null || !moved ? null : Math.min(received / moved, 1);
  return {
    shuffle,
    sent: at("comm", written),
    received,
    written: at("disk", "written"),
    read: at("disk", "read"),
    moved,
    share,
  };
}

/** @param {Moved} moved */
function progressOf({ share, shuffle }) {
  if (share === null) return "–";
  const bar = element("progress", "");
  bar.max = 1;
  bar.value = share;
  bar.setAttribute("aria-label", `${shuffle.name || shuffle.shuffle} at the playhead`);
  return element("span", "shuffle-progress", bar, formatPercent(share));
}

/**
 * @param {"sent"|"received"|"written"|"read"|"moved"} name
 * @param {string} title
 * @param {string} help
 * @returns {import("../data_table/data_table.js").Column<Moved>}
 */
function bytes(name, title, help) {
  return {
    name,
    title,
    help,
    unit: "bytes",
    value: (moved) => moved[name],
    text: (moved) => formatBytes(moved[name] ?? 0),
  };
}

/** @type {import("../data_table/data_table.js").Column<Moved>[]} */
const COLUMNS = [
  {
    name: "shuffle",
    title: "shuffle",
    help: "Of which collection, and by which columns or into which chunks, as far as the agent could know it",
    value: ({ shuffle }) => shuffle.name || shuffle.shuffle,
  },
  {
    name: "share",
    title: "at the playhead",
    help: "Received by the playhead, of what was received by the window's end",
    value: ({ share }) => share,
    cell: progressOf,
  },
  bytes("sent", "sent", "Sent by workers by the playhead"),
  bytes("received", "received", "Received by workers by the playhead"),
  bytes("written", "to disk", "Written to the workers' disks by the playhead"),
  bytes("read", "from disk", "Read from the workers' disks by the playhead"),
  bytes("moved", "in all", "Received by the window's end"),
  {
    name: "first",
    title: "from",
    value: ({ shuffle }) => isoTime(shuffle.first),
    text: ({ shuffle }) => formatTime(shuffle.first, 1),
  },
  {
    name: "seconds",
    title: "reported for",
    unit: "s",
    value: ({ shuffle }) => microseconds(shuffle.last - shuffle.first),
    text: ({ shuffle }) => formatDuration(shuffle.last - shuffle.first),
  },
  {
    name: "code",
    title: "submitted by",
    help: "The line that submitted it, where Dask records code (distributed.diagnostics.computations.nframes)",
    value: ({ shuffle }) => shuffle.code,
    text: ({ shuffle }) => shuffle.code || "–",
  },
  { name: "id", title: "id", help: "Dask's id of the shuffle", value: ({ shuffle }) => shuffle.shuffle },
];
