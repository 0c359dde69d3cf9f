// The runs that can be chosen, and the memory of those that are: asked for again every few seconds where they can change.

import { SITE } from "../../site.js";
import { reasonOf } from "../../timeline/sources/source.js";
import { firstRuns, loadRunLists } from "./run_lists.js";
import { RunOptions } from "./options.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").Schemas["AlignedMemory"]} AlignedMemory */
/** @typedef {import("./run_lists.js").RunList} RunList */

const EVERY = 10_000; // ms between two requests
const API = `${SITE}/api/v1`;

/** Fires "change". */
export class AlignedRuns extends EventTarget {
  /** @type {RunList[]|null} null: not loaded yet */
  lists = null;
  /** @type {AlignedMemory|null} */
  memory = null;
  #context;
  /** why something can't be loaded @type {Record<"lists"|"memory", string>} */
  #reasons = { lists: "", memory: "" };
  #listed = -Infinity; // ms
  #wanted = "";
  #loaded = "";
  #asked = -Infinity; // ms

  /** @param {Context} context */
  constructor(context) {
    super();
    this.#context = context;
  }

  /** Why there is nothing, or nothing newer; empty: all is well. */
  get message() {
    return this.#reasons.lists || this.#reasons.memory;
  }

  /** The ids of the chosen runs. */
  get chosen() {
    return this.#context.features.of(RunOptions).runs ?? firstRuns(this.lists ?? []);
  }

  /** Whether the memory is that of the chosen runs and measure, and not of those before. */
  get isCurrent() {
    return this.#loaded === this.#wanted;
  }

  /** To be called with each drawing. */
  update() {
    const now = performance.now();
    if (now - this.#listed >= EVERY) {
      this.#listed = now;
      void this.#try("lists", () => this.#loadLists());
    }
    if (!this.lists) return;
    const wanted = `runs=${this.chosen.join(",")}&measure=${this.#context.features.of(RunOptions).measure}`;
    const canChange =
      this.#reasons.memory !== "" || this.memory?.runs.some(({ outcome }) => outcome === "running");
    if (wanted === this.#wanted && !(canChange && now - this.#asked >= EVERY)) return;
    [this.#wanted, this.#asked] = [wanted, now];
    void this.#try("memory", () => this.#loadMemory(wanted));
  }

  async #loadLists() {
    const { info, source } = this.#context;
    this.lists = await loadRunLists((path) => this.#ask(path), Number(info.id), source.run);
  }

  /** @param {string} wanted */
  async #loadMemory(wanted) {
    const memory = this.chosen.length ? await this.#ask(`/runs/memory?${wanted}`) : null;
    if (wanted !== this.#wanted) return; // a newer one is on its way
    [this.memory, this.#loaded] = [memory, wanted];
  }

  /**
   * @param {"lists"|"memory"} what
   * @param {() => Promise<void>} load
   */
  async #try(what, load) {
    try {
      await load();
      this.#reasons[what] = "";
    } catch (error) {
      this.#reasons[what] =
        `This can't be loaded: ${error instanceof Error ? error.message : error}. It is tried again.`;
    }
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} path */
  async #ask(path) {
    const response = await this.#context.source.fetch(API + path);
    if (response.status === 404) return null;
    if (!response.ok) throw new Error(await reasonOf(response));
    return response.json();
  }
}
