// Takes what the socket brings into the page's context, and catches up after it was away.

/** @typedef {import("../types.js").Context} Context */
/** @typedef {import("../types.js").Block} Block */
/** @typedef {import("../timeline/live.js").Live} Live */
/** @typedef {import("./cluster_banners.js").Banners} Banners */

/**
 * @param {Live} live
 * @param {string} url of the cluster
 * @param {Context} context
 * @param {Banners} banners
 * @param {(url: string) => Promise<any>} getJson
 */
export function followLive(live, url, context, banners, getJson) {
  const { model, tiles, instant } = context;
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
    instant.tell(/** @type {CustomEvent<import("../types.js").State>} */ (event).detail);
  });

  async function catchUp() {
    if (catchingUp) return;
    catchingUp = true;
    try {
      const [info, lanes] = await Promise.all([getJson(url), getJson(`${url}/lanes`)]);
      context.timeline.setClock(info.now);
      Object.assign(context.info, info);
      model.load(lanes);
      takeExtent(context, info);
      instant.forget();
    } catch (error) {
      console.warn("catching up failed", error); // the next connection, or gap in the frames, tries again
    } finally {
      catchingUp = false;
    }
  }
}

/**
 * @param {Context} context
 * @param {Record<string, any>} extent
 */
function takeExtent(context, extent) {
  const { info, tiles, timeline, instant } = context;
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
  if (info.version !== versionBefore) instant.forget();
}
