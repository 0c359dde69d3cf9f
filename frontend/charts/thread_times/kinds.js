// The colours of what threads do and wait for, and why there is nothing to show.

import { theme } from "../drawing/theme.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["ThreadTimes"]} ThreadTimes */

const OTHER = "#808080";

// as Dask's task stream: transfers red, disk orange, serialization gray
/** @type {Record<string, string>} */
const COLORS = {
  computing: "#228833",
  recomputing: "#7766cc",
  failed: "#aa3377",
  unfinished: "#4b5a2a",
  "other-runs": "#5a8a8a",
  lost: "#7a1f4d",
  starting: "#5f9ea0",
  paused: "#b8860b",
  disk: "#dd8844",
  serialization: "#8a8f98",
  transfer: "#d9485a",
  ready: "#4477aa",
  scheduler: "#66aacc",
  others: "#c2a878",
  "client-gathering": "#c78fb3",
  "client-sending": "#9a7aa8",
  "client-optimizing": "#d0a3d8",
  "client-code": "#b3a7c9",
  nothing: "var(--idle)",
};

/** @param {string} kind; the colour of elements */
export function kindColor(kind) {
  return COLORS[kind] ?? OTHER;
}

/** @param {string} kind; the colour on canvases, which know no custom properties */
export function paintedColor(kind) {
  return kind === "nothing" ? theme().idle : kindColor(kind);
}

/** @param {Context} context; why there are no times to show; empty: there are */
export function missingText({ answers }) {
  const { answer, message } = answers["/thread-times"];
  if (!answer) return message;
  return answer.kinds.some(({ seconds }) => seconds > 0) ? "" : "No worker lived in this window.";
}

/** @param {Context} context; what is left out; else empty */
export function partText({ answers, source }) {
  const { answer, message } = answers["/thread-times"];
  if (!answer) return "";
  if (message) return message;
  const notes = source.url === "" ? ["A file has the times of the whole run, whatever the window."] : [];
  if (!answer.has_agent) {
    notes.push(
      "Stock endpoints don't tell why threads were idle while others computed: install the agent to tell data on its way, slow " +
        "event loops and the scheduler apart.",
    );
  }
  return notes.join(" ");
}
