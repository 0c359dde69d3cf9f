// Applies live frames to the page's context, and catches up after the connection was lost.

import { getJson } from "../../timeline/sources/source.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("../../timeline/sources/live.js").Live} Live */
/** @typedef {import("./banners.js").Banners} Banners */

const ASK_EVERY = 5000; // ms

/**
 * @param {Live} live
 * @param {Context} context
 * @param {Banners} banners
 */
export function followLive(live, context, banners) {
  const { model, tiles, playheadState } = context;
  let catchingUp = false;

  live.addEventListener("begin", (event) => {
    const extent = /** @type {CustomEvent<Record<string, any>>} */ (event).detail;
    banners.connected = true;
    banners.refused = "";
    takeExtent(context, extent);
    tiles.begin(Number(extent.sequence), Number(extent.last));
    if (Number(extent.sequence) !== context.info.sequence) void catchUp(); // else the page was loaded since
  });
  live.addEventListener("lost", () => {
    banners.connected = false;
    tiles.end();
    tiles.dispatchEvent(new Event("change"));
  });
  live.addEventListener("refused", (event) => {
    banners.refused = /** @type {CustomEvent<string>} */ (event).detail;
    tiles.dispatchEvent(new Event("change"));
  });
  live.addEventListener("frame", (event) => {
    const blocks = /** @type {CustomEvent<Block[]>} */ (event).detail;
    for (const block of blocks) {
      if (block.kind === "extent") takeExtent(context, block.meta);
      else model.apply(block);
    }
    if (tiles.append(blocks)) void catchUp();
  });

  live.addEventListener("state", (event) => {
    playheadState.receive(/** @type {CustomEvent<import("../../types.js").State>} */ (event).detail);
  });

  async function catchUp() {
    if (catchingUp) return;
    catchingUp = true;
    try {
      await learn(context);
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
 * @param {Banners} banners
 */
export function followByAsking(context, banners) {
  const timer = window.setInterval(async () => {
    try {
      const before = context.info.sequence;
      await learn(context);
      banners.connected = true;
      if (context.info.sequence !== before) context.tiles.refresh(context.info.sequence);
      if (context.info.ended !== null && context.info.task_count !== null) clearInterval(timer);
    } catch (error) {
      banners.connected = false;
      console.warn("refresh failed", error);
    }
  }, ASK_EVERY);
}

/** Applies the current info and lanes. @param {Context} context */
async function learn(context) {
  const { source, model, playheadState, timeline } = context;
  const [info, lanes] = await Promise.all([getJson(source, ""), getJson(source, "/lanes")]);
  timeline.setClock(info.now);
  info.worker_count ??= lanes.workers.length;
  Object.assign(context.info, info);
  model.load(lanes);
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
  for (const name of /** @type {const} */ (["committed", "first", "last", "version", "ended", "end_reason"])) {
    if (extent[name] !== undefined) /** @type {any} */ (info)[name] = extent[name];
  }
  for (const name of /** @type {const} */ (["task_count", "error_count", "worker_count"])) {
    if (Number.isInteger(extent[name])) info[name] = extent[name];
  }
  if (info.target && typeof extent.stream === "string") info.target.stream = extent.stream;
  tiles.setExtent(info);
  timeline.setBounds(info);
  if (info.version !== versionBefore) playheadState.forget();
}
