// The results in memory at the playhead by key, the largest first; of the selected worker, where there is one.

import { element } from "../../element.js";
import { formatBytes, formatCount, formatCountOf, formatDuration } from "../../formatting.js";
import { PlayheadData } from "../../timeline/playhead_data.js";
import { lifetimeAt, workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { isoTime } from "../chart_menu/table.js";
import { DataTable } from "../data_table/data_table.js";
import { prefixCell } from "../data_table/prefix_cell.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["ResultInMemory"]} Result */
/** @typedef {import("../../types.js").Schemas["ResultsInMemory"]} Answer */

const PATH = "/results";
const PAUSE = 300; // ms after a key was pressed

/** @type {Chart} */
export const resultsNow = {
  name: "results-now",
  title: "Results in memory",
  place: "below",
  layers: [],
  help:
    "The results that Dask kept at the playhead, by key, the largest first: on the worker that made them, in memory or spilled to disk. Copies on other workers and " +
    "data that a client scattered aren't recorded. With a selected worker, only its results are listed. A key selects its task on all charts. The list is made from the state changes that the agent reports. " +
    "Each worker looks once a second which results it has spilled, and reports up to a hundred changes, the largest first, of up to 10,000 results on its disk.",
  create: (parent, context) => new ResultsNow(parent, context),
};

class ResultsNow {
  #parent;
  #context;
  #search = element("input", "bars-search");
  #note = element("p", "chart-empty");
  #table;
  /** @type {PlayheadData<Answer>} */
  #data;
  /** @type {View|null} */
  #view = null;
  #timer = 0;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new PlayheadData(context, PATH);
    this.#data.addEventListener("change", () => this.#render());
    this.#search.type = "search";
    this.#search.placeholder = "part of a key";
    this.#search.maxLength = 200;
    this.#search.setAttribute("aria-label", "Find results by a part of their key");
    this.#search.addEventListener("input", () => {
      clearTimeout(this.#timer);
      this.#timer = window.setTimeout(() => this.#ask(), PAUSE);
    });
    parent.append(this.#search, this.#note);
    const { selection } = context;
    this.#table = new DataTable(parent, this.#columns(), {
      label: "results in memory",
      empty: context.info.has_agent
        ? "No result was in memory at this time."
        : "Which results are in memory is unknown: a stock cluster doesn't say when they leave it. The agent reports it (docs/agent.md).",
      key: ({ key }) => key,
      isChosen: ({ key }) => selection.key === key,
      choose: ({ key, prefix }) => selection.set(selection.key === key ? { key: null } : { key, prefix }),
    });
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    clearTimeout(this.#timer);
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    this.#ask();
  }

  table() {
    return { ...this.#table.table(), note: this.#note.textContent ?? "" };
  }

  /** What its heading says: of which instant it is. */
  get summary() {
    const { answer } = this.#data;
    return answer ? `at ${formatTime(answer.at, 1)}` : "";
  }

  #ask() {
    if (!this.#view) return;
    const [text, worker] = [this.#search.value.trim(), this.#worker];
    const query = new URLSearchParams({
      ...(text && { text }),
      ...(worker !== null && { worker: String(worker) }),
    }).toString();
    this.#data.ask(query ? `${PATH}?${query}` : PATH);
    this.#data.update(this.#view);
  }

  /** The lifetime of the selected worker at the playhead. */
  get #worker() {
    const { selection, model } = this.#context;
    return lifetimeAt(model.slotOf(selection.worker), this.#view?.playhead ?? 0)?.id ?? selection.worker;
  }

  #render() {
    const { answer, message } = this.#data;
    this.#table.show(answer?.results ?? [], message || (answer?.total.count ? "No result matches." : ""));
    this.#note.textContent = answer && !message ? this.#describe(answer) : "";
  }

  /** @param {Answer} answer */
  #describe({ total, found, unnamed, results, spilling_unknown }) {
    if (!total.count) return "";
    const worker = this.#context.model.workers.get(this.#worker ?? -1);
    const parts = [`${totals(found)}${worker ? ` on ${workerLabel(worker)}` : ""}`];
    if (found.count !== total.count) parts.push(`of ${totals(total)} in all`);
    if (results.length < found.count) parts.push(`the largest ${formatCount(results.length)} are listed`);
    const spilled = results.filter((row) => row.spilled.length);
    if (spilled.length)
      parts.push(
        `${formatCount(spilled.length)} of these ${spilled.length === 1 ? "is" : "are"} spilled, ${formatBytes(onDisk(...spilled))} on disk`,
      );
    if (spilling_unknown.length)
      parts.push(
        `which results ${this.#namesOf(spilling_unknown)} spilled is unknown: no agent there tells it`,
      );
    if (this.#context.source.isFile && results.length < total.count)
      parts.push("a file has the largest of some instants, and searches these alone");
    if (unnamed) parts.push(`${formatCountOf(unnamed, "smaller result")} beside them can't be listed`);
    return `${parts.join("; ")}.`;
  }

  /** @returns {import("../data_table/data_table.js").Column<Result>[]} */
  #columns() {
    const { model } = this.#context;
    const age = (/** @type {Result} */ { since }) => Math.max((this.#data.answer?.at ?? since) - since, 0);
    return [
      { name: "key", title: "key", value: ({ key }) => key },
      {
        name: "prefix",
        title: "prefix",
        value: ({ prefix }) => model.prefixName(prefix),
        cell: ({ prefix }) => prefixCell(model.prefixName(prefix), prefix, model),
      },
      {
        name: "worker",
        title: "worker",
        value: ({ worker }) => this.#nameOf(worker),
        help: "The worker that made it; another one has a copy where that one is gone",
      },
      {
        name: "size",
        title: "size",
        unit: "bytes",
        value: ({ nbytes }) => nbytes,
        text: ({ nbytes }) => formatBytes(nbytes ?? 0),
        help: "Unknown where the computation wasn't recorded",
      },
      {
        name: "spilled",
        title: "on disk",
        unit: "bytes",
        value: (row) => (row.spilled.length ? onDisk(row) : this.#isSpillingUnknown(row) ? null : 0),
        cell: (row) => this.#spilledCell(row),
        help: "Its size on the disk of the worker that spilled it, once a second; “–” is in memory alone",
      },
      {
        name: "since",
        title: "since (UTC)",
        value: ({ since }) => isoTime(since),
        cell: ({ since }) => formatTime(since, 1),
      },
      { name: "age", title: "age", unit: "s", value: age, text: (row) => formatDuration(age(row)) },
    ];
  }

  /** Whether it may be on disk without anybody saying so. @param {Result} result */
  #isSpillingUnknown({ worker }) {
    const spilling_unknown = this.#data.answer?.spilling_unknown ?? [];
    return worker === null ? spilling_unknown.length > 0 : spilling_unknown.includes(worker);
  }

  /** @param {Result} result */
  #spilledCell(result) {
    const { spilled, worker } = result;
    if (!spilled.length) return this.#isSpillingUnknown(result) ? "unknown" : "–";
    const others = spilled
      .filter((place) => place.worker !== worker)
      .map((place) => this.#nameOf(place.worker));
    const where = others.length ? ` (on ${others.join(", ")})` : "";
    return element("span", "spilled-result", `${formatBytes(onDisk(result))}${where}`);
  }

  /** @param {readonly number[]} ids of workers */
  #namesOf(ids) {
    const names = ids.slice(0, 3).map((id) => this.#nameOf(id));
    return ids.length > names.length
      ? `${names.join(", ")} and ${formatCount(ids.length - names.length)} more`
      : names.join(", ");
  }

  /** @param {number|null} id */
  #nameOf(id) {
    const worker = this.#context.model.workers.get(id ?? -1);
    return worker ? workerLabel(worker) : "a copy, or unknown";
  }
}

/** @param {Answer["total"]} totals */
function totals({ count, nbytes, unsized }) {
  const unknown = unsized ? `, ${formatCount(unsized)} of unknown size` : "";
  return `${formatCountOf(count, "result")}, ${formatBytes(nbytes)}${unknown}`;
}

/** Bytes on disk. @param {Result[]} results */
function onDisk(...results) {
  return results.flatMap(({ spilled }) => spilled).reduce((sum, { nbytes }) => sum + nbytes, 0);
}
