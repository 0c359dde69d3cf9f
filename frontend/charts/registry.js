// All charts, in the order in which a page shows them. Adding one is a file and a line here.

import { eventsTrack } from "./events_track.js";
import { taskStream } from "./task_stream.js";

/** @type {import("../types.js").Chart[]} */
export const charts = [eventsTrack, taskStream];
