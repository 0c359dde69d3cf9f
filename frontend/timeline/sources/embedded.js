// The source of a run that is embedded in the page, an exported HTML file. Its script elements hold the responses of
// the API by path, gzipped and in base64 (observatory/exchange/formats/report.py).

import { isEach, layerName } from "../tiles/bands.js";
import { decode } from "../tiles/blocks.js";
import { tileWidth } from "../tiles/levels.js";
import { figuresAt, findResults, placeAt } from "./embedded_instants.js";
import { countLogs, findLogs } from "./embedded_logs.js";
import { spansWithin, unpackSpans } from "./packed_spans.js";

/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("./source.js").Source} Source */

const NOTHING = "/tiles"; // a tile that has nothing in it
/** @type {Record<string, {entry: string, answer: (known: any, place: number, query: URLSearchParams) => unknown}>} what a file answers at an instant */
const OF_INSTANTS = {
  "/state": { entry: "/states", answer: ({ states }, place) => states[place] },
  "/workers": { entry: "/workers", answer: ({ workers }, place) => figuresAt(workers, place) },
  "/results": {
    entry: "/results",
    answer: ({ answers }, place, query) => findResults(answers[place], query),
  },
};
const BYTES_OF_A_ROW = 54; // of a span in memory

/**
 * @param {HTMLElement} main which names where notes are, if there are any: data-notes
 * @returns {Source}
 */
export function embeddedSource(main) {
  return {
    url: "",
    live: null,
    pages: null,
    notes: main.dataset.notes ?? null,
    isFile: true,
    tile: tileOfSpans,
    worker: workerUrl,
    fetch: readScript,
  };
}

/** @type {Promise<Block[]|null>|null} the extent, and the spans of each band */
let spans = null;

/**
 * A tile of spans, whatever its level, of a file that has all spans; null: the file has tiles of them.
 * @type {NonNullable<Source["tile"]>}
 */
async function tileOfSpans({ layer, level, index }) {
  const name = layerName(layer);
  if (name !== "spans" && name !== "prefixes") return null;
  const found = await (spans ??= readSpans());
  if (!found) return null;
  const [extent, ...bands] = found;
  const width = tileWidth(level);
  const blocks = bands
    .filter(({ meta }) => name === "prefixes" || isEach(layer) || meta.layer === layer)
    .map((block) => spansWithin(block, index * width, (index + 1) * width));
  const rows = blocks.reduce((sum, block) => sum + block.rows, 0);
  return { blocks: [extent, ...blocks], bytes: rows * BYTES_OF_A_ROW };
}

async function readSpans() {
  const packed = await find("/spans");
  if (packed === null) return null;
  const [extent, ...bands] = decode(await new Response(unpack(packed)).arrayBuffer());
  return [extent, ...bands.map(unpackSpans)];
}

/**
 * @param {string} url
 * @returns {Promise<Response>}
 */
async function readScript(url) {
  const [path, query = ""] = url.split("?");
  if (path in OF_INSTANTS) return ofInstant(path, new URLSearchParams(query));
  if (path === "/logs" || path === "/log-counts") return logsOf(path, new URLSearchParams(query));
  const content = (await find(path)) ?? (path.startsWith(NOTHING) ? await find(NOTHING) : null);
  if (content === null) return new Response(null, { status: 404 });
  return new Response(unpack(content));
}

/** @type {Promise<import("./embedded_logs.js").LogLine[]|null>|null} */
let logs = null;

/**
 * @param {string} path
 * @param {URLSearchParams} query
 */
async function logsOf(path, query) {
  logs ??= find("/logs").then((content) => content && new Response(unpack(content)).json());
  const lines = await logs;
  if (!lines) return new Response(null, { status: 404 });
  try {
    return Response.json(path === "/logs" ? findLogs(lines, query) : countLogs(lines, query));
  } catch (error) {
    return Response.json({ detail: String(error) }, { status: 422 });
  }
}

/** The worker that lays out graphs, from its text in the file. */
async function workerUrl() {
  const text = await new Response(unpack((await find("/layout-worker")) ?? "")).text();
  return URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
}

/** @type {Map<string, Promise<any>>} by path; null where the file has nothing of it */
const ofInstants = new Map();

/**
 * @param {string} path
 * @param {URLSearchParams} query with the instant, as `at`
 */
async function ofInstant(path, query) {
  const { entry, answer } = OF_INSTANTS[path];
  if (!ofInstants.has(path))
    ofInstants.set(
      path,
      find(entry).then((content) => content && new Response(unpack(content)).json()),
    );
  const known = await ofInstants.get(path);
  if (!known) return new Response(null, { status: 404 });
  return Response.json(answer(known, placeAt(known.instants, Number(query.get("at"))), query));
}

/**
 * @param {string} path
 * @returns {Promise<string|null>} base64
 */
async function find(path) {
  const here = () => document.querySelector(`script[data-path="${CSS.escape(path)}"]`)?.textContent ?? null;
  if (here() === null && document.readyState === "loading") {
    await new Promise((resolve) => document.addEventListener("DOMContentLoaded", resolve, { once: true }));
  }
  return here();
}

/** @param {string} packed gzip in base64 */
function unpack(packed) {
  const bytes = Uint8Array.from(atob(packed), (character) => character.charCodeAt(0));
  return new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
}
