// Applies live frames to the page's context, and catches up after the connection was lost.

import { getJson } from "../../timeline/sources/source.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../timeline/sources/live.js").Live} Live */

const ASK_EVERY = 5000; // ms
const LONGEST_CONNECTING = 1500; // ms: then what the socket would bring is requested
/** Of the extent, what a cluster's info has as well. A window has no counts. */
const BOUNDS = /** @type {const} */ ([
  "committed",
  "first",
  "last",
  "version",
  "sequence",
  "ended",
  "end_reason",
  "stream",
]);
const COUNTS = /** @type {const} */ (["task_count", "error_count", "worker_count"]);

/**
 * @param {Live} live
 * @param {Context} context
 */
export function followLive(live, context) {
  const { info, model, tiles, playheadState, freshness } = context;
  let catchingUp = false;
  let needsLanes = false;
  let hasBegun = false;
  if (live.hasStarted) {
    const until = performance.now() + LONGEST_CONNECTING;
    tiles.expectSocket(until);
    playheadState.expectSocket(until);
  }

  live.addEventListener("begin", (event) => {
    const extent = /** @type {CustomEvent<Record<string, any>>} */ (event).detail;
    // the first connection begins before the page is loaded: its frames bring what came meanwhile
    const isBehind = hasBegun
      ? Number(extent.sequence) !== info.sequence
      : Number(extent.sequence) > info.sequence;
    hasBegun = true;
    const hasLanes = extent.lanes_version === model.lanesVersion;
    if (isBehind) takeExtent(context, extent);
    tiles.begin(Number(extent.sequence), Number(extent.last));
    freshness.set(true);
    if (isBehind || !hasLanes) void catchUp(!hasLanes);
  });
  live.addEventListener("lost", () => {
    tiles.end();
    freshness.set(false, freshness.refused);
  });
  live.addEventListener("refused", (event) => {
    freshness.set(false, /** @type {CustomEvent<string>} */ (event).detail);
  });
  live.addEventListener("frame", (event) => {
    const blocks = /** @type {CustomEvent<Block[]>} */ (event).detail;
    for (const block of blocks) {
      if (block.kind === "extent") takeExtent(context, block.meta);
      else model.apply(block);
    }
    if (tiles.append(blocks)) void catchUp();
  });

  live.addEventListener("target", (event) => {
    const { stream, last_error, unheard } = /** @type {CustomEvent<Record<string, any>>} */ (event).detail;
    info.unheard = unheard;
    if (info.target) Object.assign(info.target, { stream, last_error });
  });
  live.addEventListener("state", (event) => {
    playheadState.receive(/** @type {CustomEvent<import("../../types.js").State>} */ (event).detail);
  });

  /** @param {boolean} [withLanes] */
  async function catchUp(withLanes = true) {
    needsLanes ||= withLanes;
    if (catchingUp) return;
    catchingUp = true;
    try {
      do {
        const lanes = needsLanes;
        needsLanes = false;
        await learn(context, lanes);
      } while (needsLanes);
    } catch (error) {
      console.warn("catching up failed", error); // the next connection, or gap in the frames, tries again
    } finally {
      catchingUp = false;
    }
  }
}

/**
 * A run has no socket, as that would send its whole cluster: open tiles are fetched again until the run is over
 * and its tasks are counted.
 * @param {Context} context
 */
export function followByAsking(context) {
  const timer = window.setInterval(async () => {
    try {
      const before = context.info.sequence;
      await learn(context);
      context.freshness.set(true);
      if (context.info.sequence !== before) context.tiles.refresh(context.info.sequence);
      if (context.info.ended !== null && context.info.task_count !== null) clearInterval(timer);
    } catch (error) {
      context.freshness.set(false);
      console.warn("refresh failed", error);
    }
  }, ASK_EVERY);
}

/**
 * Applies the current info, and lanes.
 * @param {Context} context
 * @param {boolean} [withLanes] false where the page has all of them: those of a thousand workers take a second
 */
async function learn(context, withLanes = true) {
  const { source, model, playheadState, timeline } = context;
  const [info, lanes] = await Promise.all([
    getJson(source, ""),
    withLanes ? getJson(source, "/lanes") : null,
  ]);
  timeline.setClock(info.now);
  Object.assign(context.info, info);
  if (lanes) model.load(lanes);
  takeExtent(context, info);
  playheadState.forget();
}

/**
 * @param {Context} context
 * @param {Record<string, any>} extent
 */
function takeExtent(context, extent) {
  const { info, tiles, timeline, playheadState } = context;
  const versionBefore = info.version;
  for (const name of BOUNDS) if (extent[name] !== undefined) /** @type {any} */ (info)[name] = extent[name];
  for (const name of COUNTS) if (Number.isInteger(extent[name])) info[name] = extent[name];
  tiles.setExtent(info);
  timeline.setBounds(info);
  playheadState.complete(info.committed);
  if (info.version !== versionBefore) playheadState.forget();
}
