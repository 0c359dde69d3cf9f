// Types that timeline/, charts/ and pages/ share. Times are seconds since the epoch on the scheduler's clock.

/**
 * @typedef {Float64Array|Float32Array|Uint32Array|Int32Array|Uint8Array} Numbers
 * @typedef {{codes: Uint32Array, values: string[], at: (row: number) => string}} Texts
 * @typedef {{kind: string, rows: number, meta: Record<string, any>,
 *   numbers: (name: import("./contract.js").NumberColumn) => Numbers,
 *   texts: (name: import("./contract.js").TextColumn) => Texts}} Block
 *
 * Documents of the API (generated from the server's schemas).
 * @typedef {import("./api.js").components["schemas"]} Schemas
 * @typedef {Schemas["TimelineWorker"]} Worker
 * @typedef {Schemas["TimelineLane"]} Lane
 * @typedef {Schemas["TimelinePrefix"]} Prefix
 * @typedef {Schemas["TimelineSeriesGroup"]} SeriesGroup
 * @typedef {Pick<SeriesGroup, "metric"|"labels"|"interval"> & {id: number, worker: number|null}} Series
 * @typedef {Schemas["State"]} State
 * @typedef {Schemas["ClusterInfo"]} ClusterInfo
 * @typedef {Schemas["NoteOut"]} Note
 * @typedef {Schemas["TimelineAlert"]} Alert
 *
 * A tile draws only [start, stop). `blocks` has the server's blocks, and those that the socket appended.
 * @typedef {{layer: string, level: number, index: number, start: number, stop: number, closed: boolean,
 *   binWidth: number, blocks: Map<string, Block[]>}} Tile
 *
 * Everything that a chart may use. Most are EventTargets that fire "change".
 * @typedef {{
 *   source: import("./timeline/sources/source.js").Source,
 *   info: ClusterInfo,
 *   model: import("./timeline/model.js").Model,
 *   timeline: import("./timeline/timeline.js").Timeline,
 *   freshness: import("./timeline/freshness.js").Freshness,
 *   tiles: import("./timeline/tiles/tiles.js").Tiles,
 *   selection: import("./timeline/selection.js").Selection,
 *   lineage: import("./timeline/tasks/lineage.js").Lineage,
 *   playheadState: import("./timeline/playhead_state.js").PlayheadState,
 *   events: import("./timeline/marks/events.js").Events,
 *   features: import("./timeline/features.js").Features,
 *   stragglers: import("./timeline/tasks/stragglers.js").Stragglers,
 *   stolen: import("./timeline/tasks/stolen.js").Stolen,
 *   answers: import("./timeline/answers.js").AnswersOfWindow,
 *   attempts: import("./timeline/tasks/attempts.js").Attempts,
 *   stacks: import("./timeline/tiles/stacks.js").Stacks,
 *   notes: import("./timeline/marks/notes.js").Notes,
 *   alerts: import("./timeline/marks/alerts.js").Alerts,
 * }} Context
 *
 * What to draw. `tiles[layer]` are the best available tiles that cover the window; the task stream adds those of its bands.
 * `unloaded[layer]`: the parts of the window that they don't cover.
 * `state` is the newest state that has arrived for the playhead, or null before the first; `isStateCurrent` is false while
 * a newer one is on its way. `revision` is another number once anything changed that isn't part of the view.
 * @typedef {{start: number, stop: number, playhead: number, live: boolean, width: number, revision: number,
 *   hover: number|null, tiles: Record<string, Tile[]>,
 *   unloaded: Record<string, import("./timeline/tiles/unloaded.js").Unloaded[]>, state: State|null, isStateCurrent: boolean}} View
 *
 * One chart: a file in charts/, named by the files of its tabs in tabs/. `timeline` charts share the time axis: they leave
 * LEFT_GUTTER px at the left for labels and RIGHT_GUTTER at the right, and the plot between is the window.
 * `side` charts show the playhead; `above` and `below` ones, as wide as the page, sum up the window.
 * `layers` may be a function: in a large cluster they are those of the visible workers. `hide` is called when the chart
 * is no longer visible. A chart that requests tiles itself does so in `cover`, before any chart draws.
 * `showsState`: its heading says of which instant the state is that it draws.
 * `isPartial`: whether it goes on drawing in the next frame.
 * `summary`: what its heading says of the content, such as how many workers there are. `table`: what it shows, for those who
 * read it, and as CSV.
 * `answers`: those of the server about the window that it draws; `context.answers` has them.
 * `options`: what people choose for it, with its part of the address; `context.features` has them.
 * `commands`: what keys do for it, whichever tab is open.
 * `quantity`: what an alert on the chart is about: a key of observatory/alerts/rules/quantities.py.
 * `isThere`: whether there is anything to show; else the page has no panel of it.
 * `part`: the part of the data that must be shared for it (`Section` on the server, or "notes").
 * `fills`: its rows are as high as two fifths of the window allow. A chart with `resize` has the `height` that a person chose, in px.
 * `isEmpty`: whether there is nothing to show in this window, so that it takes no room on the first tab.
 * @typedef {{name: string, title: string, place: "above"|"timeline"|"side"|"below", help: string, fills?: boolean, answers?: (keyof import("./contract.js").Answers)[], part?: string,
 *   options?: (new (context: Context) => import("./timeline/features.js").Options)[],
 *   commands?: import("./timeline/controls/commands.js").Command[], showsState?: boolean, quantity?: string,
 *   isThere?: (context: Context) => boolean,
 *   layers: string[]|((context: Context) => string[]),
 *   create: (element: HTMLElement, context: Context) => ChartInstance}} Chart
 * @typedef {{draw: (view: View) => void, destroy: () => void, hide?: () => void,
 *   cover?: (view: View) => void, readonly summary?: string, readonly isPartial?: boolean,
 *   isEmpty?: (view: View) => boolean, resize?: (size: {height: number|null, fills: boolean}) => void,
 *   table?: () => import("./charts/chart_menu/table.js").Table}} ChartInstance
 */

export const LEFT_GUTTER = 120;
export const RIGHT_GUTTER = 12;
/** The gutter at the left, narrower on a phone. */
export function leftGutter() {
  return window.innerWidth < 700 ? 62 : LEFT_GUTTER;
}
