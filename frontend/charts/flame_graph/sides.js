// The two profiles that are compared: that of the window, and another one of the same timeline or of another run.

import { SITE } from "../../site.js";
import { Model } from "../../timeline/model.js";
import { getJson, serverSource } from "../../timeline/sources/source.js";
import { Tiles } from "../../timeline/tiles/tiles.js";
import { ProfileOptions, formatAgainst } from "./options.js";
import { makeTree, sumAttachedStacks, sumStacks } from "./tree.js";
import { formatWindow } from "../../timeline/times.js";

/** @typedef {import("../../timeline/tiles/stacks.js").Stacks} Stacks */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../timeline/tiles/unloaded.js").Unloaded} Unloaded */
/** @typedef {import("./tree.js").Wanted} Wanted */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {Pick<Context, "info"|"model"|"stacks"> & Partial<Pick<Context, "events"|"answers">>} Origin where the samples come from */
/**
 * Samples of a window, and which of them are wanted. `missing`: why there are none of what is selected; empty: there may be some.
 * @typedef {{origin: Origin, start: number, stop: number, tiles: Tile[], unloaded: Unloaded[], wanted: Wanted, name: string,
 *   missing: string}} Side
 * @typedef {Origin & {tiles: Tiles}} OtherRun
 * The tree of a side's samples; the stacks of `unnamed` ones haven't arrived.
 * @typedef {{side: Side, root: Node, unnamed: number}} Profile
 */

const LAYER = "profile";
const VIEWER = "profile-against";
export const ATTACHED = "/attached-profiles";

/**
 * @param {Context} context
 * @param {View} view
 * @param {Wanted} wanted
 * @returns {Side}
 */
export function ownSide(context, view, wanted) {
  const { start, stop, tiles, unloaded } = view;
  return {
    origin: context,
    start,
    stop,
    tiles: tiles[LAYER] ?? [],
    unloaded: unloaded[LAYER] ?? [],
    wanted,
    name: "this window",
    missing: "",
  };
}

/**
 * @param {Side} side
 * @returns {Profile}
 */
export function grow(side) {
  if (side.wanted.source === "files") return growAttached(side);
  const { stacks } = side.origin;
  const sums = side.missing ? new Map() : sumStacks(side.tiles, side, side.wanted);
  const { root, missing, unnamed } = makeTree(sums, stacks);
  void stacks.want(missing);
  return { side, root, unnamed };
}

/**
 * @param {Side} side
 * @returns {Profile}
 */
function growAttached(side) {
  const { stacks, answers } = side.origin;
  const attached = answers?.[ATTACHED].answer;
  const sums = attached ? sumAttachedStacks(attached, side.wanted) : new Map();
  const { root } = makeTree(sums, { get: (place) => stacks.read(attached?.stacks[place].stack ?? "") });
  return { side, root, unnamed: 0 };
}

/** The other side. Fires "change" when there is more of another run; what is of the same timeline, the page knows. */
export class OtherSide extends EventTarget {
  #context;
  #loaded = ""; // which run, as in an address
  /** @type {OtherRun|null} */
  #run = null;
  #reason = "";
  /** @type {View|null} of the page's last drawing; null: it isn't in sight */
  #view = null;
  /** @type {Tile[]} */
  #tiles = [];

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
  }

  /**
   * Takes the tiles, before the page draws.
   * @param {View} view
   */
  cover(view) {
    this.#view = view;
    const { against } = this.#context.features.of(ProfileOptions);
    if (against?.kind === "run") this.#open(against.id);
    const source = against?.kind === "run" ? this.#run : this.#context;
    if (!against || !source) return this.#drop();
    const { start, stop } = this.#window(view);
    this.#tiles = source.tiles.cover(VIEWER, LAYER, start, stop, view.width);
    source.tiles.sendDue();
  }

  /** Wants no tiles any more. */
  release() {
    this.#view = null;
    this.#drop();
  }

  #drop() {
    this.#tiles = [];
    for (const source of [this.#context, this.#run]) source?.tiles.release(VIEWER, LAYER);
  }

  /**
   * @param {View} view
   * @param {Wanted} wanted of the own side
   * @returns {Side|string|null} the reason where it can't be had; null: there is no other side, or not yet
   */
  side(view, wanted) {
    const { against } = this.#context.features.of(ProfileOptions);
    if (!against) return null;
    if (wanted.source === "files") return "Profiles of attached files are not compared.";
    const shared = { ...this.#window(view), tiles: this.#tiles };
    if (against.kind !== "run") {
      const unloaded = this.#context.tiles.unloaded(VIEWER, LAYER);
      const name =
        against.kind === "before" ? "the window before" : `the pinned window, ${formatWindow(against)}`;
      return { ...shared, origin: this.#context, unloaded, wanted, name, missing: "" };
    }
    if (!this.#run) return this.#reason || null;
    const name = `run ${this.#run.info.name} #${against.id}`;
    const unloaded = this.#run.tiles.unloaded(VIEWER, LAYER);
    return { ...shared, origin: this.#run, unloaded, name, ...translated(wanted, this.#context, this.#run) };
  }

  /** @param {View} view */
  #window({ start, stop }) {
    const { against } = this.#context.features.of(ProfileOptions);
    if (against?.kind === "window") return { start: against.start, stop: against.stop };
    if (against?.kind !== "run" || !this.#run) return { start: 2 * start - stop, stop: start };
    return { start: this.#run.info.started, stop: this.#run.info.last };
  }

  /** @param {number} id of a run */
  #open(id) {
    const wanted = formatAgainst({ kind: "run", id });
    if (wanted === this.#loaded) return;
    this.#drop();
    [this.#loaded, this.#run, this.#reason] = [wanted, null, ""];
    loadRun(id, this.#context.stacks).then(
      (run) => this.#take(wanted, run, ""),
      (error) =>
        this.#take(
          wanted,
          null,
          `Run #${id} can't be compared with: ${error instanceof Error ? error.message : error}.`,
        ),
    );
  }

  /**
   * @param {string} loaded
   * @param {OtherRun|null} run
   * @param {string} reason
   */
  #take(loaded, run, reason) {
    if (loaded !== this.#loaded) return;
    [this.#run, this.#reason] = [run, reason];
    for (const source of run ? [run.tiles, run.stacks] : [])
      source.addEventListener("change", () => this.#changed());
    this.#changed();
  }

  /** The page draws again only where something of its own changed. */
  #changed() {
    if (this.#view) this.cover(this.#view);
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {number} id
 * @param {Stacks} stacks of the page: functions have the same ids in both
 * @returns {Promise<OtherRun>}
 */
async function loadRun(id, stacks) {
  const source = serverSource(`${SITE}/api/v1/runs/${id}/timeline`);
  const [info, lanes] = await Promise.all([getJson(source, ""), getJson(source, "/lanes")]);
  const model = new Model(info.band);
  model.load(lanes);
  return { info, model, stacks: stacks.beside(source), tiles: new Tiles(source, info) };
}

/**
 * What is selected, in another cluster: prefixes and workers by their names.
 * @param {Wanted} wanted
 * @param {Origin} from
 * @param {Origin} to
 * @returns {{wanted: Wanted, missing: string}}
 */
export function translated({ source, slot, prefix }, from, to) {
  const name = prefix === null ? null : from.model.prefixName(prefix);
  const other =
    name === null ? null : ([...to.model.prefixes.values()].find((one) => one.name === name)?.id ?? null);
  const same = slot && (to.model.slots.get(slot.key) ?? null);
  const wanted = { source, slot: same, prefix: other };
  if ((source === "tasks" || source === "native") && name !== null && other === null)
    return { wanted, missing: `It has no prefix ${name}.` };
  if (source !== "scheduler" && slot && !same) return { wanted, missing: `It has no worker ${slot.key}.` };
  return { wanted, missing: "" };
}
