// The tracks of events and alerts, which are on each tab.

import { alertsTrack } from "../charts/alerts/track.js";
import { eventsTrack } from "../charts/events/track.js";

/** @type {import("../types.js").Chart[]} in the order in which the page shows them */
export const marks = [eventsTrack, alertsTrack];
