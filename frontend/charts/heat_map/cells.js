// The cells of the heat map, from the tiles that cover its window.

import { ACTIONS, STATUSES, WIDE_BIN } from "../../contract.js";
import { tileWidth } from "../../timeline/tiles/levels.js";
import { Grid, threadSeconds } from "./grid.js";
import { QUANTITIES } from "./quantities.js";

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../timeline/model.js").Model} Model */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */
/** @typedef {import("./options.js").QuantityName} QuantityName */
/**
 * The columns of a bin, with the share of it that lies in each.
 * @typedef {{columns: number[], shares: number[]}} Spread
 * `values` are by row and column, NaN where nothing is known; `prefixes`, of durations, the prefix that was computed longest.
 * @typedef {{grid: Grid, values: Float64Array, prefixes: Uint32Array|null}} Cells
 */

const COMPUTE = ACTIONS.indexOf("compute");
const ERROR = STATUSES.indexOf("error");
const REACH = 3.5; // intervals for which a sample holds

/**
 * @param {Tile[]} tiles of the quantity's layer
 * @param {QuantityName} name
 * @param {Model} model
 * @param {Slot[]} slots
 * @param {number} step seconds of a column
 * @param {number} until nothing is known of later times
 * @returns {Cells}
 */
export function cellsOf(tiles, name, model, slots, step, until) {
  const grid = new Grid(tiles, step, slots);
  if (QUANTITIES[name].layer !== "spans")
    return { grid, values: means(tiles, name, model, grid), prefixes: null };
  if (name === "duration") return durations(tiles, model, grid);
  return { grid, values: amounts(tiles, name === "errors", model, grid, until), prefixes: null };
}

/**
 * @param {Tile[]} tiles
 * @param {QuantityName} name
 * @param {Model} model
 * @param {Grid} grid
 */
function means(tiles, name, model, grid) {
  const { layer, chosen, factor } = QUANTITIES[name];
  const series = chosen(model.seriesOf(layer));
  const workers = new Map(series.map(({ id, worker }) => [id, worker ?? -1]));
  const [sums, counts] = [grid.numbers(), grid.numbers()];
  const add = (
    /** @type {number} */ row,
    /** @type {number} */ column,
    /** @type {number} */ mean,
    /** @type {number} */ count,
  ) => {
    if (row < 0 || column < 0 || column >= grid.columns || !Number.isFinite(mean)) return;
    sums[row * grid.columns + column] += mean * count;
    counts[row * grid.columns + column] += count;
  };
  for (const tile of tiles) {
    for (const block of tile.blocks.get("worker-value") ?? []) {
      const [mean, count] = [block.numbers("mean"), block.numbers("count")];
      eachBin(block, tile, grid, (at, row, column, share) => add(row, column, mean[at], count[at] * share));
    }
    for (const block of tile.blocks.get("bin") ?? []) {
      const [id, time, mean, count] = [
        block.numbers("series"),
        block.numbers("time"),
        block.numbers("mean"),
        block.numbers("count"),
      ];
      for (let at = 0; at < block.rows; at++) {
        const worker = workers.get(id[at]);
        if (worker === undefined || time[at] < tile.start || time[at] >= tile.stop) continue;
        add(grid.rowOf(worker), grid.columnAt(time[at]), mean[at], count[at]);
      }
    }
  }
  const values = grid.numbers().fill(NaN);
  for (let cell = 0; cell < values.length; cell++)
    if (counts[cell]) values[cell] = (factor * sums[cell]) / counts[cell];
  hold(values, grid, REACH * Math.max(0, ...series.map(({ interval }) => interval)));
  return values;
}

/**
 * Carries values on to the columns in which no sample was due.
 * @param {Float64Array} values
 * @param {Grid} grid
 * @param {number} reach seconds
 */
function hold(values, { columns, step }, reach) {
  for (let known = -1, cell = 0; cell < values.length; cell++) {
    if (cell % columns === 0) known = -1;
    if (Number.isNaN(values[cell])) continue;
    if (known >= 0 && (cell - known) * step <= reach) values.fill(values[known], known + 1, cell);
    known = cell;
  }
}

/**
 * Shares of busy threads in percent, or numbers of erred tasks.
 * @param {Tile[]} tiles
 * @param {boolean} areErrors
 * @param {Model} model
 * @param {Grid} grid
 * @param {number} until
 */
function amounts(tiles, areErrors, model, grid, until) {
  const sums = grid.numbers();
  for (const tile of tiles) {
    for (const block of tile.blocks.get("worker-busy") ?? []) {
      const amount = block.numbers(areErrors ? "errors" : "busy");
      eachBin(
        block,
        tile,
        grid,
        (at, row, column, share) => (sums[row * grid.columns + column] += amount[at] * share),
      );
    }
    eachSpan(tile, model, grid, (row, block, at, from, to) => {
      if (!areErrors)
        return grid.each(
          from,
          to,
          (column, share) => (sums[row * grid.columns + column] += (to - from) * share),
        );
      const stop = block.numbers("stop")[at];
      if (block.numbers("status")[at] === ERROR && stop <= tile.stop) {
        grid.each(stop - 2e-6, stop, (column) => (sums[row * grid.columns + column] += 1));
      }
    });
  }
  return sums.map((sum, cell) => {
    const [row, column] = [Math.floor(cell / grid.columns), cell % grid.columns];
    const start = grid.startOf(column);
    const there = threadSeconds(grid.slots[row].lifetimes, start, Math.min(start + grid.step, until));
    if (!grid.covered[column] || there <= 0) return sum || NaN;
    return areErrors ? sum : Math.min((100 * sum) / there, 100);
  });
}

/**
 * How long tasks took, relative to the medians of their prefixes, which are those of what the cells' tasks took on average.
 * @param {Tile[]} tiles
 * @param {Model} model
 * @param {Grid} grid
 * @returns {Cells}
 */
function durations(tiles, model, grid) {
  /** @type {Map<number, Map<number, [seconds: number, tasks: number]>>} by prefix and cell */
  const found = new Map();
  const add = (
    /** @type {number} */ prefix,
    /** @type {number} */ cell,
    /** @type {number} */ seconds,
    /** @type {number} */ tasks,
  ) => {
    let cells = found.get(prefix);
    if (!cells) found.set(prefix, (cells = new Map()));
    const sums = cells.get(cell);
    if (!sums) cells.set(cell, [seconds, tasks]);
    else {
      sums[0] += seconds;
      sums[1] += tasks;
    }
  };
  for (const tile of tiles) {
    for (const block of tile.blocks.get("worker-busy") ?? []) {
      const [prefix, seconds, tasks] = [
        block.numbers("prefix"),
        block.numbers("seconds"),
        block.numbers("tasks"),
      ];
      eachBin(block, tile, grid, (at, row, column, share) =>
        add(prefix[at], row * grid.columns + column, seconds[at] * share, tasks[at] * share),
      );
    }
    eachSpan(tile, model, grid, (row, block, at, from, to) => {
      const length = block.numbers("stop")[at] - block.numbers("start")[at];
      grid.each(from, to, (column, share) => {
        const seconds = (to - from) * share;
        add(
          block.numbers("prefix")[at],
          row * grid.columns + column,
          seconds,
          length > 0 ? seconds / length : 1,
        );
      });
    });
  }
  const [seconds, usual, longest] = [grid.numbers(), grid.numbers(), grid.numbers()];
  const prefixes = new Uint32Array(seconds.length);
  for (const [prefix, cells] of found) {
    const median = weightedMedian([...cells.values()]);
    for (const [cell, [its, tasks]] of cells) {
      seconds[cell] += its;
      usual[cell] += tasks * median;
      if (its <= longest[cell]) continue;
      [longest[cell], prefixes[cell]] = [its, prefix];
    }
  }
  return { grid, values: seconds.map((sum, cell) => (usual[cell] > 0 ? sum / usual[cell] : NaN)), prefixes };
}

/**
 * The mean of a cell's tasks that half of all tasks don't exceed.
 * @param {[seconds: number, tasks: number][]} cells
 */
export function weightedMedian(cells) {
  const sorted = cells
    .filter(([, tasks]) => tasks > 0)
    .sort((one, other) => one[0] / one[1] - other[0] / other[1]);
  let left = sorted.reduce((sum, [, tasks]) => sum + tasks, 0) / 2;
  for (const [seconds, tasks] of sorted) if ((left -= tasks) <= 0) return seconds / tasks;
  return 0;
}

/**
 * Calls `visit` for the rows of a block of each worker and the columns of their bins.
 * @param {Block} block
 * @param {Tile} tile
 * @param {Grid} grid
 * @param {(at: number, row: number, column: number, share: number) => void} visit
 */
function eachBin(block, tile, grid, visit) {
  const [worker, bin] = [block.numbers("worker"), block.numbers("bin")];
  const columnsOf = columnsOfBins(block, tile, grid);
  for (let at = 0; at < block.rows; at++) {
    const row = grid.rowOf(worker[at]);
    if (row < 0) continue;
    const { columns, shares } = /** @type {Spread} */ (columnsOf.get(bin[at]));
    for (let place = 0; place < columns.length; place++) visit(at, row, columns[place], shares[place]);
  }
}

/**
 * The columns of the part of each bin that the tile draws, once for all workers.
 * @param {Block} block
 * @param {Tile} tile
 * @param {Grid} grid
 * @returns {Map<number, Spread>} by bin
 */
function columnsOfBins(block, tile, grid) {
  const width = WIDE_BIN * tile.binWidth;
  const origin = (Number.isInteger(block.meta.index) ? block.meta.index : tile.index) * tileWidth(tile.level);
  /** @type {Map<number, Spread>} */
  const found = new Map();
  for (const bin of new Set(block.numbers("bin"))) {
    /** @type {Spread} */
    const spread = { columns: [], shares: [] };
    const take = (/** @type {number} */ from, /** @type {number} */ to) =>
      grid.each(from, to, (column, share) => (spread.columns.push(column), spread.shares.push(share)));
    const start = origin + bin * width;
    // a clipped tile of a coarser level draws a part of it
    if (start + width / 2 >= tile.start && start + width / 2 < tile.stop) take(start, start + width);
    else if (width > tile.stop - tile.start && start < tile.stop && start + width > tile.start)
      take(tile.start, tile.stop);
    found.set(bin, spread);
  }
  return found;
}

/**
 * Calls `visit` for the live spans that computed, with the part that the tile draws.
 * @param {Tile} tile
 * @param {Model} model
 * @param {Grid} grid
 * @param {(row: number, block: Block, at: number, from: number, to: number) => void} visit
 */
function eachSpan(tile, model, grid, visit) {
  for (const block of tile.blocks.get("span") ?? []) {
    const [lane, action, start, stop] = [
      block.numbers("lane"),
      block.numbers("action"),
      block.numbers("start"),
      block.numbers("stop"),
    ];
    for (let at = 0; at < block.rows; at++) {
      const [from, to] = [Math.max(start[at], tile.start), Math.min(stop[at], tile.stop)];
      if (action[at] !== COMPUTE || to <= from) continue;
      const row = grid.rowOf(model.lanes.get(lane[at])?.worker ?? -1);
      if (row >= 0) visit(row, block, at, from, to);
    }
  }
}
