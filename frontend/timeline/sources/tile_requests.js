// Requests tiles, several at once: a request costs the server and the browser more than most tiles do.

import { MAXIMUM_TILES } from "../../contract.js";
import { decode } from "../tiles/blocks.js";

/** @typedef {import("./source.js").MadeTile} MadeTile */
/** @typedef {import("./source.js").Source} Source */

const TOGETHER = Math.min(6, MAXIMUM_TILES); // tiles of a request: the slowest of them holds up the others
const LENGTH_BYTES = 4;

/**
 * The tiles that are requested together.
 * @template Place
 * @param {Place[]} places
 * @param {(place: Place) => boolean} isAlone whether a tile would hold up others
 * @returns {Place[][]}
 */
export function grouped(places, isAlone) {
  const together = places.filter((place) => !isAlone(place));
  const groups = [];
  for (let first = 0; first < together.length; first += TOGETHER)
    groups.push(together.slice(first, first + TOGETHER));
  return [...groups, ...places.filter(isAlone).map((place) => [place])];
}

/**
 * @param {Source} source
 * @param {string} key of the tile
 * @param {number} version of the extent
 * @param {AbortSignal} signal
 * @returns {Promise<MadeTile>}
 */
export async function requestTile(source, key, version, signal) {
  const buffer = await request(source, `/tiles/${key}?version=${version}`, signal);
  return { blocks: decode(buffer), bytes: buffer.byteLength };
}

/**
 * @param {Source} source
 * @param {string[]} keys of the tiles, at most MAXIMUM_TILES
 * @param {number} version of the extent
 * @param {AbortSignal} signal
 * @returns {Promise<MadeTile>[]} a tile of each key; all reject where the request fails
 */
export function requestTogether(source, keys, version, signal) {
  const parts = request(source, `/tiles?of=${keys.join(",")}&version=${version}`, signal).then(split);
  return keys.map(async (_, number) => unpack((await parts)[number]));
}

/**
 * @param {Source} source
 * @param {string} path
 * @param {AbortSignal} signal
 */
async function request(source, path, signal) {
  const response = await source.fetch(source.url + path, { signal });
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.arrayBuffer();
}

/**
 * @param {ArrayBuffer} buffer packed tiles, each after its length
 * @returns {Uint8Array<ArrayBuffer>[]}
 */
function split(buffer) {
  const view = new DataView(buffer);
  const parts = [];
  for (let position = 0; position < buffer.byteLength;) {
    const length = view.getUint32(position, true);
    parts.push(new Uint8Array(buffer, position + LENGTH_BYTES, length));
    position += LENGTH_BYTES + length;
  }
  return parts;
}

/**
 * @param {Uint8Array<ArrayBuffer>|undefined} packed gzip
 * @returns {Promise<MadeTile>}
 */
async function unpack(packed) {
  if (!packed) throw new Error("the server sent fewer tiles than were requested");
  // a Blob's stream would go through another process, and take several times as long on a busy machine
  const { readable, writable } = new DecompressionStream("gzip");
  const writer = writable.getWriter();
  const written = Promise.all([writer.write(packed), writer.close()]);
  const [buffer] = await Promise.all([new Response(readable).arrayBuffer(), written]);
  return { blocks: decode(buffer), bytes: buffer.byteLength };
}

/**
 * A signal that is aborted when all of `signals` are: as long as one of the tiles is wanted, the request goes on.
 * @param {AbortSignal[]} signals
 */
export function abortedWithAll(signals) {
  const controller = new AbortController();
  for (const signal of signals) {
    signal.addEventListener("abort", () => {
      if (signals.every(({ aborted }) => aborted)) controller.abort(signal.reason);
    });
  }
  return controller.signal;
}
