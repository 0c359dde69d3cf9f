// What of each prefix and group was there at the playhead: its tasks by state, and the bytes of its results in memory.

import { contentOf } from "../../timeline/tiles/tile_store.js";
import { WindowData } from "../../timeline/window_data.js";
import { binsBy, statesAt } from "../graph/states.js";
import { pointsOf, valueAt } from "../series/series_points.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["GroupGraph"]} GroupGraph */
/** @typedef {import("../series/series_points.js").Points} Points */

export const MEMORY_LAYER = "prefix-memory";
const EVERY = 10_000; // ms, where the window moves with the present

/** Fires "change" when the states are others. */
export class AtPlayhead extends EventTarget {
  /** @type {Map<number, number[]>} tasks in each state by the ids of prefixes, and of groups */
  statesOfPrefixes = new Map();
  /** @type {Map<number, number[]>} */
  statesOfGroups = new Map();
  /** @type {Map<string, number>} bytes by the names of prefixes */
  memory = new Map();
  /** groups whose states aren't told, because there are so many */
  others = 0;
  #context;
  /** @type {WindowData<GroupGraph>} */
  #graph;
  /** @type {GroupGraph|null} */
  #counted = null;
  #bins = -1; // of its changes that are counted
  /** @type {Map<string, Points>} by the names of prefixes */
  #points = new Map();
  #content = "";

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
    this.#graph = new WindowData(context.source, "/group-graph", EVERY);
    this.#graph.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  stop() {
    this.#graph.stop();
  }

  /**
   * @param {View} view
   * @returns {boolean} whether anything is another
   */
  update(view) {
    this.#graph.update(view);
    return [this.#countStates(view.playhead), this.#readMemory(view)].some(Boolean);
  }

  /** @param {number} at */
  #countStates(at) {
    const graph = this.#graph.answer;
    const bins = graph ? binsBy(graph.changes, at, graph.stop) : -1;
    if (graph === this.#counted && bins === this.#bins) return false;
    [this.#counted, this.#bins] = [graph, bins];
    this.others = graph?.others ?? 0;
    const { groups, prefixes } = graph ? statesByIds(graph, at) : { groups: new Map(), prefixes: new Map() };
    [this.statesOfGroups, this.statesOfPrefixes] = [groups, prefixes];
    return true;
  }

  /** @param {View} view */
  #readMemory(view) {
    this.#takePoints(view.tiles[MEMORY_LAYER] ?? []);
    const before = this.memory;
    this.memory = new Map();
    for (const [name, points] of this.#points) {
      const value = valueAt(points, view.playhead);
      if (value !== null) this.memory.set(name, value);
    }
    return (
      before.size !== this.memory.size || [...this.memory].some(([name, value]) => before.get(name) !== value)
    );
  }

  /** @param {import("../../types.js").Tile[]} tiles */
  #takePoints(tiles) {
    const series = this.#context.model.seriesOf(MEMORY_LAYER);
    const gaps = this.#context.events.sampleGaps;
    const content = `${contentOf(tiles)} ${series.length} ${JSON.stringify(gaps)}`;
    if (content === this.#content) return;
    this.#content = content;
    const points = pointsOf(tiles, new Map(series.map((one) => [one.id, one])), gaps);
    this.#points = new Map(
      series.flatMap(({ id, labels }) =>
        points.has(id) ? [[labels.prefix, /** @type {Points} */ (points.get(id))]] : [],
      ),
    );
  }
}

/**
 * The tasks in each state at an instant, of each group and of each prefix.
 * @param {GroupGraph} graph
 * @param {number} at
 * @returns {{groups: Map<number, number[]>, prefixes: Map<number, number[]>}} empty where states aren't known
 */
export function statesByIds(graph, at) {
  /** @type {Map<number, number[]>} */
  const groups = new Map();
  /** @type {Map<number, number[]>} */
  const prefixes = new Map();
  statesAt(graph, at).counts.forEach((counts, place) => {
    const { group, prefix } = graph.groups[place];
    groups.set(group, counts);
    const before = prefixes.get(prefix);
    prefixes.set(prefix, before ? before.map((count, state) => count + counts[state]) : [...counts]);
  });
  return { groups, prefixes };
}
