// What the cluster's people add to the heartbeats of their workers: a line for each number of the selected worker.

import { slotLabel } from "../../timeline/slots.js";
import { workerColor } from "../drawing/palette.js";
import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";
import { selectedLayers } from "./worker_lines.js";

/** @typedef {import("../../types.js").Context} Context */

const LAYER = "custom";

export const selectedCustom = seriesChart({
  name: "worker-custom",
  title: "Own metrics of the selected worker",
  layers: selectedLayers(LAYER),
  help:
    "Numbers that the cluster’s people add to the heartbeats of their workers (Worker(metrics=…), observatory_worker_custom): " +
    "click a worker anywhere to select it. Rules can use them, too.",
  unit: units.count,
  ofSelection: true,
  empty: "Click a worker, in the task stream or in a legend, to see the metrics of its own.",
  isThere: ({ model }) => model.seriesOf(LAYER).length > 0,
  lines: ({ model, selection }) => {
    const slot = model.slotOf(selection.worker);
    if (!slot) return [];
    const workers = model.lifetimesOf(selection.worker);
    const all = model.seriesOf(LAYER).filter((one) => one.worker !== null && workers.includes(one.worker));
    const names = [...new Set(all.map((one) => one.labels.name))].sort();
    return names.map((name, index) => ({
      series: all.filter((one) => one.labels.name === name),
      label: `${slotLabel(slot)} ${name}`,
      color: workerColor(index),
      slot: null,
    }));
  },
});
