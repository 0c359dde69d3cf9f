// The rows of the table of the critical path: its kinds of time, its prefixes, or its pieces.

import { partsOf } from "../thread_times/rows.js";

/** @typedef {import("../../types.js").Schemas["CriticalPathAnswer"]} Answer */
/** @typedef {import("../../types.js").Schemas["PieceOfPath"]} Piece */
/** @typedef {keyof typeof PATH_ROWS} PathRows */
/**
 * What isn't known of a row is null.
 * @typedef {{id: string, name: string, kind: string|null, prefix: number|null, piece: Piece|null, seconds: number, share: number,
 *   slack: number|null, parts: import("../thread_times/rows.js").Part[]}} PathRow
 */

export const PATH_ROWS = /** @type {const} */ ({
  kinds: { title: "by what it waited for", heading: "what it waited for" },
  prefixes: { title: "by prefix", heading: "prefix" },
  pieces: { title: "its pieces", heading: "task" },
});

/**
 * @param {Answer} answer
 * @param {PathRows} rows
 * @returns {PathRow[]}
 */
export function pathRows(answer, rows) {
  const length = answer.kinds.reduce((sum, { seconds }) => sum + seconds, 0);
  const share = (/** @type {number} */ seconds) => (length ? seconds / length : 0);
  const none = { kind: null, prefix: null, piece: null, slack: null, parts: [] };
  if (rows === "kinds")
    return partsOf(answer).map(({ kind, title, seconds }) => ({
      ...none,
      id: kind,
      name: title,
      kind,
      seconds,
      share: share(seconds),
    }));
  if (rows === "pieces") return answer.pieces.map((piece) => pieceRow(answer, piece, share));
  return answer.prefixes.map(({ prefix, name, seconds, slack }) => {
    const sum = seconds.reduce((one, other) => one + other, 0);
    const kinds = answer.kinds.map(({ kind, title }, place) => ({
      kind,
      title,
      seconds: seconds[place] ?? 0,
    }));
    return {
      ...none,
      id: String(prefix),
      name,
      prefix,
      seconds: sum,
      share: share(sum),
      slack,
      parts: partsOf({ kinds }),
    };
  });
}

/**
 * @param {Answer} answer
 * @param {Piece} piece
 * @param {(seconds: number) => number} share
 * @returns {PathRow}
 */
function pieceRow({ kinds }, piece, share) {
  const { kind, prefix, key, start, stop } = piece;
  const title = kinds.find((one) => one.kind === kind)?.title ?? kind;
  const seconds = stop - start;
  return {
    id: String(start),
    name: key ?? title,
    kind,
    prefix,
    piece,
    seconds,
    share: share(seconds),
    slack: null,
    parts: [],
  };
}
