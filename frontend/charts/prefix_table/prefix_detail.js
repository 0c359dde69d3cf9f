// What is below an opened prefix: its durations, its slowest tasks, its workers and its groups.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { shortName, workerLabel } from "../../timeline/slots.js";
import { formatTime } from "../../timeline/times.js";
import { WindowData } from "../../timeline/window_data.js";
import { DataTable } from "../data_table/data_table.js";
import { goToTask } from "../side_list/items.js";
import { describe, durationAxis, durationBars } from "./duration_bars.js";
import { groupColumns, seconds } from "./figures.js";
import { searchUrl } from "./key_search.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {Schemas["PrefixDetail"]} Answer */
/** @typedef {Schemas["SlowTask"]} SlowTask */
/** @typedef {Schemas["WorkerShare"]} WorkerShare */
/** @typedef {Schemas["GroupFigures"]} GroupFigures */

const EVERY = 10_000; // ms, where the window moves with the present
const LONGEST_KEY = 36; // characters that leave room for the other columns
const [BARS_WIDTH, BARS_HEIGHT] = [420, 90]; // px

export class PrefixDetail {
  element = element("div", "prefix-detail");
  #context;
  #prefix;
  /** @type {WindowData<Answer>} */
  #data;
  #figure = element("figure", "prefix-durations");
  /** @type {import("./figures.js").Surroundings} */
  #around;
  /** @type {DataTable<SlowTask>} */
  #slowest;
  /** @type {DataTable<WorkerShare>} */
  #workers;
  /** @type {DataTable<GroupFigures>} */
  #groups;
  #workersNote = element("p", "chart-empty");
  #groupsNote = element("p", "chart-empty");

  /**
   * @param {Context} context
   * @param {number} prefix id
   * @param {import("./at_playhead.js").AtPlayhead} now which the table keeps up to date
   */
  constructor(context, prefix, now) {
    this.#context = context;
    this.#prefix = prefix;
    this.#around = {
      axis: durationAxis([], { shortest: 1e-6, bins_of_octave: 4 }),
      progress: new Map(),
      now,
    };
    this.#data = new WindowData(context.source, `/prefixes/${prefix}`, EVERY);
    this.#data.addEventListener("change", () => this.#show());
    const [slowest, workers, groups] = ["Slowest tasks", "By worker", "By group"].map((title) =>
      element("section", "", element("h3", "", title)),
    );
    this.#slowest = this.#slowestTable(slowest);
    this.#workers = this.#workersTable(workers);
    this.#groups = new DataTable(groups, groupColumns(context, this.#around), {
      label: "groups of the prefix",
      empty: "None.",
      key: ({ group }) => group,
      find: ({ name }) => name,
      sorted: "seconds",
    });
    workers.append(this.#workersNote);
    groups.append(this.#groupsNote);
    groups.className = "prefix-groups";
    this.element.append(element("div", "", this.#figure, this.#searchLink()), slowest, workers, groups);
    this.#show();
  }

  /** @param {View} view */
  update(view) {
    this.#data.update(view);
  }

  stop() {
    this.#data.stop();
  }

  /**
   * What the table knows of the prefix.
   * @param {Schemas["PrefixFigures"]} row
   * @param {import("./duration_bars.js").Bins} bins
   */
  setDurations(row, bins) {
    const axis = durationAxis([row], bins);
    const look = {
      width: BARS_WIDTH,
      height: BARS_HEIGHT,
      color: this.#context.model.color(row.prefix),
      hasLabels: true,
    };
    const bars = row.histogram.length ? [durationBars(row, axis, look)] : [];
    this.#figure.replaceChildren(...bars, element("figcaption", "muted", describe(row)));
  }

  /** Shows the selection as it is now. */
  redraw() {
    this.#show();
  }

  #show() {
    const { answer, message } = this.#data;
    this.#around.axis = durationAxis(answer?.groups ?? [], answer ?? { shortest: 1e-6, bins_of_octave: 4 });
    this.#slowest.show(answer?.slowest ?? [], message);
    this.#workers.show(
      this.#bySlot(answer?.workers ?? []),
      message ||
        (answer?.worker_count === null
          ? "Too many workers and prefixes computed in this window to tell them apart. Choose a shorter one."
          : ""),
    );
    this.#groups.show(answer?.groups ?? [], message);
    this.#workersNote.textContent = leftOut(
      answer?.worker_count ?? 0,
      answer?.workers.length ?? 0,
      "workers",
    );
    this.#groupsNote.textContent = leftOut(answer?.group_count ?? 0, answer?.groups.length ?? 0, "groups");
  }

  /** @param {HTMLElement} parent @returns {DataTable<SlowTask>} */
  #slowestTable(parent) {
    const { selection } = this.#context;
    return new DataTable(
      parent,
      [
        {
          name: "key",
          title: "task",
          value: ({ key }) => key,
          cell: ({ key, erred }) =>
            element("span", "", erred ? "✕ " : "", element("code", "", shortName(key, LONGEST_KEY))),
        },
        seconds("seconds", "duration", "How long it computed", ({ start, stop }) => stop - start),
        {
          name: "start",
          title: "begin",
          value: ({ start }) => start,
          text: ({ start }) => formatTime(start, 1),
        },
        { name: "worker", title: "worker", value: ({ worker }) => this.#name(worker) },
      ],
      {
        label: "slowest tasks",
        empty: "No task of it ended in this window.",
        key: ({ key, start }) => `${start} ${key}`,
        sorted: "seconds",
        isChosen: ({ key }) => selection.key === key,
        choose: ({ key, start }) => goToTask(this.#context, { key, prefix: this.#prefix }, start),
      },
    );
  }

  /** @param {HTMLElement} parent @returns {DataTable<WorkerShare>} */
  #workersTable(parent) {
    const { model, selection } = this.#context;
    const isChosen = (/** @type {WorkerShare} */ { worker }) =>
      selection.worker !== null && model.slotOf(selection.worker)?.key === model.slotOf(worker)?.key;
    return new DataTable(
      parent,
      [
        { name: "worker", title: "worker", value: ({ worker }) => this.#name(worker) },
        { name: "tasks", title: "tasks", value: ({ tasks }) => tasks },
        seconds("seconds", "time", "Computing time in the window", (share) => share.seconds),
        seconds("mean", "mean", "Time of a task", (share) =>
          share.tasks ? share.seconds / share.tasks : null,
        ),
        seconds("longest", "longest", "Its longest task", ({ longest }) => longest),
      ],
      {
        label: "workers of the prefix",
        empty: "No worker computed it in this window.",
        key: ({ worker }) => worker,
        find: ({ worker }) => `${this.#name(worker)} ${model.workers.get(worker)?.host ?? ""}`,
        sorted: "seconds",
        isChosen,
        choose: (share) => selection.set({ worker: isChosen(share) ? null : share.worker }),
      },
    );
  }

  /**
   * The lifetimes of one worker together.
   * @param {WorkerShare[]} shares
   */
  #bySlot(shares) {
    /** @type {Map<string|number, WorkerShare>} */
    const found = new Map();
    for (const share of shares) {
      const slot = this.#context.model.slotOf(share.worker)?.key ?? share.worker;
      const before = found.get(slot) ?? { worker: share.worker, tasks: 0, seconds: 0, longest: 0 };
      const [tasks, seconds] = [before.tasks + share.tasks, before.seconds + share.seconds];
      found.set(slot, { ...before, tasks, seconds, longest: Math.max(before.longest, share.longest) });
    }
    return [...found.values()];
  }

  /** @param {number} worker id */
  #name(worker) {
    const known = this.#context.model.workers.get(worker);
    return known ? workerLabel(known) : `worker ${worker}`;
  }

  #searchLink() {
    const name = this.#context.model.prefixName(this.#prefix);
    const url = searchUrl(this.#context, name);
    if (url === null) return "";
    const link = element("a", "", `Find tasks with ${name} in their key`);
    link.href = url;
    return element("p", "", link);
  }
}

/** @param {number} all @param {number} shown @param {string} noun */
function leftOut(all, shown, noun) {
  return all > shown ? `and ${formatCount(all - shown)} more ${noun}` : "";
}
