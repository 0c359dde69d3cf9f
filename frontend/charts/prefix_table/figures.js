// The columns of the tables of prefixes and of groups.

import { formatBytes, formatCount, formatDuration } from "../../formatting.js";
import { prefixCell } from "../data_table/prefix_cell.js";
import { durationBars } from "./duration_bars.js";
import { stateBar, tasksToDo } from "./state_bar.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").State} State */
/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Schemas["PrefixFigures"]} PrefixFigures */
/** @typedef {Schemas["GroupFigures"]} GroupFigures */
/** @typedef {import("./duration_bars.js").DurationAxis} DurationAxis */
/**
 * What the cells show beside the row: the axis of the histograms, the progress at the playhead by the names of prefixes, and
 * what else was there at the playhead.
 * @typedef {{axis: DurationAxis, progress: Map<string, State["progress"][number]>, now: import("./at_playhead.js").AtPlayhead}} Surroundings
 */
/**
 * @template Row
 * @typedef {import("../data_table/data_table.js").Column<Row>} Column
 */

const [BARS_WIDTH, BARS_HEIGHT] = [130, 17]; // px

/**
 * @param {Context} context
 * @param {Surroundings} around whose values change
 * @returns {Column<PrefixFigures>[]}
 */
export function prefixColumns({ model, info }, around) {
  const ofAgent = (/** @type {number} */ value) => (info.has_agent ? value : null);
  return [
    nameColumn("prefix", model),
    {
      name: "done",
      title: "done",
      help: "Tasks done at the playhead, out of those that the scheduler knew, and those that erred",
      value: ({ name }) => around.progress.get(name)?.done ?? null,
      text: ({ name }) => progressText(around.progress.get(name)),
    },
    statesColumn(({ prefix }) => around.now.statesOfPrefixes.get(prefix)),
    ...durationColumns(model, around),
    seconds(
      "transfer",
      "transfers",
      "How long threads waited for data of other workers",
      ({ transfer }) => transfer,
    ),
    bytes(
      "received",
      "moved",
      "Data that its tasks fetched from other workers, as the agent records it",
      ({ received }) => ofAgent(received),
    ),
    seconds("disk", "disk", "How long data was read from disk and written to it", ({ disk }) => disk),
    seconds(
      "serialization",
      "serialize",
      "How long data was serialized and deserialized",
      ({ serialization }) => serialization,
    ),
    resultColumn(),
    bytes(
      "memory",
      "in memory",
      "Its results that Dask kept at the playhead, also those on disk, as the agent records them",
      ({ name }) => around.now.memory.get(name) ?? null,
    ),
    {
      name: "errors",
      title: "errors",
      help: "Tasks that failed for good, as the agent records them",
      value: ({ errors }) => ofAgent(errors),
    },
    {
      name: "retries",
      title: "retries",
      help: "Attempts that failed and were followed by another, as the agent records them",
      value: ({ retries }) => ofAgent(retries),
    },
    {
      name: "workers",
      title: "workers",
      help: "Workers that computed it; each lifetime counts",
      value: ({ workers }) => workers,
    },
  ];
}

/**
 * @param {Context} context
 * @param {Surroundings} around whose values change
 * @returns {Column<GroupFigures>[]}
 */
export function groupColumns({ model, info }, around) {
  return [
    nameColumn("group", model),
    statesColumn(({ group }) => around.now.statesOfGroups.get(group)),
    ...durationColumns(model, around),
    resultColumn(),
    {
      name: "erred",
      title: "failed",
      help: "Attempts that failed, of those that are counted as tasks, as the agent records them",
      value: ({ erred }) => (info.has_agent ? erred : null),
    },
  ];
}

/**
 * @template Row
 * @param {(row: Row) => number[]|undefined} countsOf tasks in each state
 * @returns {Column<Row>}
 */
function statesColumn(countsOf) {
  return {
    name: "states",
    title: "states",
    unit: "not done",
    help: "Its tasks at the playhead, by state. Sorted by those that wait, are queued or are processed. The agent records them",
    value: (row) => {
      const counts = countsOf(row);
      return counts ? tasksToDo(counts) : null;
    },
    cell: (row) => {
      const counts = countsOf(row);
      return counts?.some((count) => count > 0) ? stateBar(counts) : "–";
    },
  };
}

/**
 * @param {string} title
 * @param {Context["model"]} model
 * @returns {Column<{name: string, prefix: number}>}
 */
function nameColumn(title, model) {
  return {
    name: "name",
    title,
    value: ({ name }) => name,
    cell: ({ name, prefix }) => prefixCell(name, prefix, model),
  };
}

/**
 * @param {Context["model"]} model
 * @param {Surroundings} around
 * @returns {Column<Omit<GroupFigures, "group"|"name"|"erred">>[]}
 */
function durationColumns(model, around) {
  return [
    {
      name: "tasks",
      title: "tasks",
      help: "Computations that ended in the window; each attempt counts",
      value: ({ tasks }) => tasks,
    },
    seconds("seconds", "time", "Computing time of all threads in the window", (row) => row.seconds),
    {
      name: "spread",
      title: "durations",
      unit: "95 % / median",
      help: "Histogram of the durations on a logarithmic axis, the same for all rows, with a line at the median. Sorted by how far the 95 % are above the median",
      value: ({ median, p95 }) => (median && p95 !== null ? p95 / median : null),
      cell: (row) =>
        row.histogram.length
          ? durationBars(row, around.axis, {
              width: BARS_WIDTH,
              height: BARS_HEIGHT,
              color: model.color(row.prefix),
            })
          : "–",
    },
    seconds("shortest", "shortest", "The shortest task that ended in the window", ({ shortest }) => shortest),
    seconds("median", "median", "Half of the tasks took less", ({ median }) => median),
    seconds("p95", "95 %", "95 % of the tasks took less", ({ p95 }) => p95),
    seconds("longest", "longest", "The longest task that ended in the window", ({ longest }) => longest),
  ];
}

/** @returns {Column<{nbytes: number}>} */
function resultColumn() {
  return bytes("nbytes", "results", "Sizes of the results", ({ nbytes }) => nbytes);
}

/**
 * @template Row
 * @param {string} name
 * @param {string} title
 * @param {string} help
 * @param {(row: Row) => number|null} value
 * @returns {Column<Row>}
 */
function bytes(name, title, help, value) {
  return { name, title, help, unit: "bytes", value, text: (row) => formatBytes(value(row) ?? 0) };
}

/**
 * @template Row
 * @param {string} name
 * @param {string} title
 * @param {string} help
 * @param {(row: Row) => number|null} value
 * @returns {Column<Row>}
 */
export function seconds(name, title, help, value) {
  return { name, title, help, unit: "s", value, text: (row) => formatDuration(value(row) ?? 0) };
}

/** @param {State["progress"][number]|undefined} progress */
function progressText(progress) {
  if (!progress) return "–";
  const { done, total, erred } = progress;
  const of = total === null ? "" : ` / ${formatCount(Math.max(total, done + (erred ?? 0)))}`;
  return `${formatCount(done)}${of}${erred ? ` · ${formatCount(erred)} erred` : ""}`;
}
