// The rows of the track of attached files.

/** @typedef {import("../../types.js").Schemas["AttachedProfiles"]} Attached */
/** @typedef {import("../../types.js").Schemas["AttachedFile"]} File */
/** @typedef {import("../../types.js").Schemas["AttachedThread"]} Thread */
/** What ran for most of a stretch of time. @typedef {{start: number, stop: number, name: string, file: string}} Piece */
/** @typedef {{file: File, thread: Thread, pieces: Piece[]}} Row */

/**
 * @param {Attached} attached
 * @returns {Row[]} one for each thread, file by file
 */
export function rowsOf({ files, functions }) {
  const named = functions.map((text) => {
    const [name, file = ""] = text.split("\t");
    return { name, file };
  });
  return files.flatMap((file) =>
    file.threads.map((thread) => ({
      file,
      thread,
      pieces: thread.pieces.map(([start, stop, place]) => ({ start, stop, ...named[place] })),
    })),
  );
}
