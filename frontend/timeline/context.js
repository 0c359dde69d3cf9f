// The context that all charts of a timeline share.

import { answersOf } from "./answers.js";
import { Alerts } from "./marks/alerts.js";
import { Attempts } from "./tasks/attempts.js";
import { Lineage } from "./tasks/lineage.js";
import { Features } from "./features.js";
import { Events } from "./marks/events.js";
import { Freshness } from "./freshness.js";
import { PlayheadState } from "./playhead_state.js";
import { Model } from "./model.js";
import { Notes } from "./marks/notes.js";
import { Selection } from "./selection.js";
import { PrefixNames } from "./prefix_names.js";
import { getJson } from "./sources/source.js";
import { Stolen } from "./tasks/stolen.js";
import { Stragglers } from "./tasks/stragglers.js";
import { Stacks } from "./tiles/stacks.js";
import { Tiles } from "./tiles/tiles.js";
import { Timeline } from "./timeline.js";

/**
 * @param {import("./sources/source.js").Source} source
 * @param {import("../types.js").Chart[]} charts that may be drawn
 * @returns {Promise<import("../types.js").Context>} rejects when the source can't be read
 */
export async function loadContext(source, charts) {
  const [info, lanes] = await Promise.all([getJson(source, ""), getJson(source, "/lanes")]);
  const model = new Model(info.band);
  model.load(lanes);
  const names = new PrefixNames(source, model);
  model.askName = (prefix) => names.ask(prefix);
  const timeline = new Timeline(info);
  const selection = new Selection();
  const freshness = new Freshness(info, timeline);
  const context = /** @type {import("../types.js").Context} */ ({
    source,
    info,
    model,
    timeline,
    freshness,
    tiles: new Tiles(source, info, freshness),
    selection,
    lineage: new Lineage(source, selection, model),
    playheadState: new PlayheadState(source),
    events: new Events(),
    stacks: new Stacks(source),
    stragglers: new Stragglers(),
    attempts: new Attempts(),
    stolen: new Stolen(source, timeline, info.has_agent),
    answers: answersOf(source, charts),
    notes: new Notes(source, timeline),
    alerts: new Alerts(source, timeline),
  });
  context.features = new Features(context);
  return context;
}
