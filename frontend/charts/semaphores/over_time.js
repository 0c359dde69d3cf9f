// The leases of semaphores and locks over time: in use, and waited for.

import { workerColor } from "../drawing/palette.js";
import { seriesChart } from "../series/series_chart.js";
import { units } from "../series/value_axis.js";
import { LAYER, semaphoresOf } from "./leases.js";

const MOST = 10; // semaphores

export const semaphores = seriesChart({
  name: "semaphores",
  title: "Leases of semaphores and locks",
  layers: [LAYER],
  help:
    `Leases of each semaphore and lock in use, and requests that wait for one: of the ${MOST} that were used first. From the agent, or from ` +
    "dask_semaphore_active_leases and dask_semaphore_pending_leases on the scheduler's /metrics page.",
  unit: units.count,
  empty: "No semaphore was used in this window.",
  isThere: ({ model }) => semaphoresOf(model).length > 0,
  lines: ({ model }) =>
    semaphoresOf(model)
      .slice(0, MOST)
      .flatMap(({ name, active, pending }, place) => [
        ...(active
          ? [{ series: [active], label: `${name}: in use`, color: workerColor(2 * place), slot: null }]
          : []),
        ...(pending
          ? [{ series: [pending], label: `${name}: waiting`, color: workerColor(2 * place + 1), slot: null }]
          : []),
      ]),
});
