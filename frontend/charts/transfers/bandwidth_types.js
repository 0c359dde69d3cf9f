// How fast data of each type moved between workers.

import { workerColor } from "../drawing/palette.js";
import { seriesChart } from "../series/series_chart.js";
import { units } from "../series/value_axis.js";

const LAYER = "bandwidth";
const MOST = 12; // types, in the order of the alphabet

export const bandwidthTypes = seriesChart({
  name: "bandwidth-types",
  title: "Bandwidth by type",
  layers: [LAYER],
  help:
    `The mean bandwidth of a transfer between workers, by the type of the data: transfers of over 1 MB with data of one type, which workers report in their heartbeats, and ` +
    `at most ${MOST} types. The agent reports it (observatory_cluster_transfer_bytes_per_second).`,
  unit: units.bytesPerSecond,
  empty:
    "No bandwidth by type was reported in this window. The agent reports it, for transfers of over 1 MB (docs/agent.md).",
  lines: ({ model }) => {
    const series = [...model.seriesOf(LAYER)].sort((one, other) =>
      one.labels.type.localeCompare(other.labels.type),
    );
    return series.slice(0, MOST).map((one, place) => ({
      series: [one],
      label: one.labels.type,
      color: workerColor(place),
      slot: null,
    }));
  },
});
