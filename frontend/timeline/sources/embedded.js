// The source of a run that is embedded in the page, an exported HTML file. Its script elements hold the responses of
// the API by path, gzipped and in base64 (observatory/exchange/formats/report.py).

import { isEach, layerName } from "../tiles/bands.js";
import { decode } from "../tiles/blocks.js";
import { tileWidth } from "../tiles/levels.js";
import { spansWithin, unpackSpans } from "./packed_spans.js";

/** @typedef {import("../../types.js").Block} Block */
/** @typedef {import("./source.js").Source} Source */
/** @typedef {{instants: number[], states: import("../../types.js").State[]}} States in order of time */

const NOTHING = "/tiles"; // a tile that has nothing in it
const BYTES_OF_A_ROW = 54; // of a span in memory

/**
 * @param {HTMLElement} main which names where notes are, if there are any: data-notes
 * @returns {Source}
 */
export function embeddedSource(main) {
  return { url: "", live: null, pages: null, notes: main.dataset.notes ?? null, tile: tileOfSpans, fetch: readScript };
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

/** @type {Promise<States>|null} */
let states = null;

/**
 * @param {string} url
 * @returns {Promise<Response>}
 */
async function readScript(url) {
  const [path, query = ""] = url.split("?");
  if (path === "/state") return stateAt(Number(new URLSearchParams(query).get("at")));
  const content = (await find(path)) ?? (path.startsWith(NOTHING) ? await find(NOTHING) : null);
  if (content === null) return new Response(null, { status: 404 });
  return new Response(unpack(content));
}

/**
 * The last state that is known by then: of each instant the file has none.
 * @param {number} at
 */
async function stateAt(at) {
  states ??= find("/states").then((content) => new Response(unpack(content ?? "")).json());
  const known = await states;
  let index = known.instants.findIndex((instant) => instant > at + 1e-6);
  if (index < 0) index = known.instants.length;
  return Response.json(known.states[Math.max(index - 1, 0)]);
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
