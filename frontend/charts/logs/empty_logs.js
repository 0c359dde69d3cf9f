// Why there are no log lines.

import { LogOptions } from "./options.js";

/** @param {Pick<import("../../types.js").Context, "info"|"features"|"selection">} context */
export function emptyLogs({ info, features, selection }) {
  if (!info.has_agent) {
    return (
      "Dask's own endpoints don't report logs. Start the scheduler with the agent to record them: " +
      "dask scheduler --preload observatory.agent (docs/agent.md)."
    );
  }
  if (!features.of(LogOptions).areAll || selection.worker !== null)
    return "No line of the window matches the filter and the selected worker.";
  return "Nothing was logged in this window. observatory.loggers in Dask's configuration selects loggers and levels (docs/agent.md).";
}
