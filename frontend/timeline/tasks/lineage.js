// The lineage of the selected task: what it was made of and what was made of it, from /lineage.

/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Schemas["Lineage"]} Answer */
/** @typedef {Schemas["LineageSpan"]} Span */
/** @typedef {Schemas["LineageTask"]} Task */
/** @typedef {"dependency"|"dependent"} Relation */
/** @typedef {Pick<import("../model.js").Model, "lanesOf">} Lanes */
/** @typedef {"none"|"loading"|"loaded"|"absent"|"failed"} Status none: no task is selected; absent: the source has no lineages */

/**
 * A line from the end of a span to the start of one that needed its result, or of a transfer from the worker that sent the
 * data to the one that got it. Times in seconds.
 * @typedef {{relation: Relation|"transfer", from: {lane: number, time: number}, to: {lane: number, time: number}}} Line
 */

const EVERY = 5000; // ms, of a cluster that is live
export const MOST_LINES = 50;
const CLOCKS = 0.01; // seconds by which the clocks of two workers may differ

/** Fires "change" when another task was selected, and when its lineage was loaded. */
export class Lineage extends EventTarget {
  /** @type {Status} */
  status = "none";
  /** @type {Answer|null} of the selected task */
  current = null;
  /** @type {Map<string, Relation>} by key */
  relations = new Map();
  /** @type {Line[]} the nearest ones */
  lines = [];
  /** @type {Line[]} of its transfers */
  transferLines = [];
  #source;
  #selection;
  #model;
  #key = "";
  #shown = "";

  /**
   * @param {import("../sources/source.js").Source} source
   * @param {import("../selection.js").Selection} selection
   * @param {Lanes} model
   */
  constructor(source, selection, model) {
    super();
    this.#model = model;
    this.#source = source;
    this.#selection = selection;
    selection.addEventListener("change", () => this.#select());
  }

  /**
   * Loads it again every few seconds, as dependents can follow.
   * @param {import("../timeline.js").Timeline} timeline
   */
  follow(timeline) {
    window.setInterval(() => {
      if (timeline.ended === null && !document.hidden && this.#key) void this.#load();
    }, EVERY);
  }

  #select() {
    const key = this.#selection.key ?? "";
    if (key === this.#key) return;
    this.#key = key;
    this.#shown = "";
    this.#set(key ? "loading" : "none", null);
    if (key) void this.#load();
  }

  async #load() {
    const key = this.#key;
    const [status, answer] = await request(this.#source, key);
    if (key !== this.#key) return;
    if (status === "failed" && this.current) return; // what is shown stays
    const text = `${status} ${JSON.stringify(answer)}`;
    if (text === this.#shown) return;
    this.#shown = text;
    this.#set(status, answer);
  }

  /**
   * @param {Status} status
   * @param {Answer|null} answer
   */
  #set(status, answer) {
    this.status = status;
    this.current = answer;
    this.relations = answer ? relationsOf(answer) : new Map();
    this.lines = answer ? linesOf(answer) : [];
    this.transferLines = answer ? transferLinesOf(answer, this.#model) : [];
    this.dispatchEvent(new Event("change"));
  }
}

/**
 * @param {import("../sources/source.js").Source} source
 * @param {string} key
 * @returns {Promise<[Status, Answer|null]>}
 */
async function request(source, key) {
  try {
    const response = await source.fetch(`${source.url}/lineage?${new URLSearchParams({ key })}`);
    if (response.status === 404) return ["absent", null];
    return response.ok ? ["loaded", await response.json()] : ["failed", null];
  } catch {
    return ["failed", null];
  }
}

/** @param {Answer} answer @returns {Map<string, Relation>} */
function relationsOf({ dependencies, dependents }) {
  /** @type {[string, Relation][]} */
  const relations = [];
  for (const { key } of dependents.tasks) relations.push([key, "dependent"]);
  for (const { key } of dependencies.tasks) relations.push([key, "dependency"]);
  return new Map(relations);
}

/**
 * Each attempt of a task gets a line from the last attempt of each dependency that had ended by then.
 * @param {Answer} answer
 * @param {number} most lines; each direction has half of them where both have many
 * @returns {Line[]} those whose ends are nearest in time
 */
export function linesOf({ spans, dependencies, dependents }, most = MOST_LINES) {
  const into = dependencies.tasks.flatMap((task) =>
    spans.flatMap((span) => line("dependency", task.spans, span)),
  );
  const outOf = dependents.tasks.flatMap((task) =>
    task.spans.flatMap((span) => line("dependent", spans, span)),
  );
  const half = Math.ceil(most / 2);
  const lines = nearest(into, Math.max(half, most - outOf.length));
  return [...lines, ...nearest(outOf, most - lines.length)];
}

/**
 * The lines of the task's transfers. Where one begins on the other worker, data that it brought was made, if that is known.
 * @param {Answer} answer
 * @param {Lanes} model
 * @returns {Line[]} none for a transfer from an unknown worker
 */
export function transferLinesOf({ transfers, dependencies }, model) {
  return transfers.flatMap(({ lane, start, stop, peer, keys }) => {
    const lanes = peer === null ? [] : model.lanesOf(peer).map(({ id }) => id);
    const brought = new Set(keys.map(({ key }) => key));
    const made = dependencies.tasks.filter(({ key }) => brought.has(key)).flatMap(({ spans }) => spans);
    const from = made.find((span) => lanes.includes(span.lane))?.lane ?? lanes[0];
    return from === undefined
      ? []
      : [{ relation: "transfer", from: { lane: from, time: start }, to: { lane, time: stop } }];
  });
}

/**
 * @param {Relation} relation
 * @param {Span[]} attempts of the task whose result was needed
 * @param {Span} to
 * @returns {Line[]} one, or none if no attempt had ended
 */
function line(relation, attempts, to) {
  const ended = attempts.filter(({ stop }) => stop <= to.start + CLOCKS);
  if (!ended.length) return [];
  const from = ended.reduce((last, span) => (span.stop > last.stop ? span : last));
  return [{ relation, from: { lane: from.lane, time: from.stop }, to: { lane: to.lane, time: to.start } }];
}

/**
 * @param {Line[]} lines
 * @param {number} most
 */
function nearest(lines, most) {
  const distance = (/** @type {Line} */ { from, to }) => to.time - from.time;
  return lines.sort((one, other) => distance(one) - distance(other)).slice(0, most);
}
