// Results in memory by the prefix of their task: those with most memory, and the others together.

import { formatCount } from "../../formatting.js";
import { contentOf } from "../../timeline/tiles/tile_store.js";
import { theme } from "../drawing/theme.js";
import { seriesChart } from "./series_chart.js";
import { units } from "./value_axis.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Series} Series */
/** @typedef {import("./series_chart.js").Line} Line */

const LAYER = "prefix-memory";
const MOST = 10; // prefixes with an area of their own

export const prefixMemory = seriesChart({
  name: "prefix-memory",
  title: "Memory by prefix",
  layers: [LAYER],
  help:
    `Results that Dask keeps, by the prefix of their task, also those that are spilled to disk: the ${MOST} prefixes with most, and the others together. ` +
    "Dask doesn't report which results are spilled: the chart of the cluster's memory says how much is. " +
    "The agent reports it (observatory_prefix_memory_bytes).",
  unit: units.bytes,
  stacked: true,
  empty:
    "No memory by prefix was reported in this window. The agent reports it, for results that stay in memory for longer than its interval (docs/agent.md).",
  lines: (context, view) => {
    const series = context.model.seriesOf(LAYER);
    const ranked = rankedOf(context, view.tiles[LAYER] ?? [], series);
    const [first, others] = [ranked.slice(0, MOST), ranked.slice(MOST)];
    const ids = new Map([...context.model.prefixes.values()].map(({ id, name }) => [name, id]));
    const lines = first.map((one) => {
      const { prefix } = one.labels;
      return { series: [one], label: prefix, color: context.model.color(ids.get(prefix) ?? -1), slot: null };
    });
    if (!others.length) return lines;
    return [
      ...lines,
      {
        series: others,
        label: `${formatCount(others.length)} others`,
        color: theme().muted,
        slot: null,
        isSum: true,
      },
    ];
  },
});

/** @type {WeakMap<Context, {content: string, ranked: Series[]}>} */
const known = new WeakMap();

/**
 * The series that have values in the tiles, those with most memory first.
 * @param {Context} context
 * @param {Tile[]} tiles
 * @param {Series[]} series
 */
function rankedOf(context, tiles, series) {
  const content = `${contentOf(tiles)} ${series.length}`;
  const before = known.get(context);
  if (before?.content === content) return before.ranked;
  const ranked = rank(tiles, series);
  known.set(context, { content, ranked });
  return ranked;
}

/**
 * @param {Tile[]} tiles
 * @param {Series[]} series
 * @returns {Series[]} those with values above zero: by their sum, the greatest first
 */
export function rank(tiles, series) {
  /** @type {Map<number, number>} */
  const sums = new Map();
  for (const tile of tiles) {
    for (const block of tile.blocks.get("bin") ?? []) {
      const [ids, means] = [block.numbers("series"), block.numbers("mean")];
      for (let row = 0; row < block.rows; row++) {
        if (means[row] > 0) sums.set(ids[row], (sums.get(ids[row]) ?? 0) + means[row] * tile.binWidth);
      }
    }
  }
  const found = series.filter(({ id }) => sums.has(id));
  return found.sort((one, other) => (sums.get(other.id) ?? 0) - (sums.get(one.id) ?? 0) || one.id - other.id);
}
