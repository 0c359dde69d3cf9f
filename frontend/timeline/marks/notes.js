// The notes on the timeline, refreshed regularly.

import { send } from "../../sending.js";

/** @typedef {import("../../types.js").Note} Note */

const REFRESH = 15_000; // ms

/** Fires "change" when the notes changed, and "edit" to edit one. */
export class Notes extends EventTarget {
  /** @type {Note[]} in order of time */
  list = [];
  #source;
  #timeline;
  #shown = "[]";

  /**
   * @param {import("../sources/source.js").Source} source
   * @param {import("../timeline.js").Timeline} timeline of a cluster or of a run, which has those of its window
   */
  constructor(source, timeline) {
    super();
    this.#source = source;
    this.#timeline = timeline;
  }

  get #url() {
    return this.#source.notes ?? "";
  }

  /** Fetches them now and every few seconds while the page is visible. */
  follow() {
    if (!this.#url) return;
    void this.load();
    setInterval(() => document.hidden || void this.load(), REFRESH);
  }

  async load() {
    let text;
    try {
      const response = await this.#source.fetch(this.#url);
      if (!response.ok) return;
      text = await response.text();
    } catch {
      return; // the server is away: what is shown stays, the next round tries again
    }
    if (text === this.#shown) return;
    this.#shown = text;
    const { first, end, ended } = this.#timeline;
    this.list = within(JSON.parse(text), first, ended === null ? Infinity : end);
    this.dispatchEvent(new Event("change"));
  }

  /**
   * @param {number} start
   * @param {number} stop
   * @returns {Note[]} those that overlap this time
   */
  between(start, stop) {
    return within(this.list, start, stop);
  }

  /** @param {{time: number, stop: number|null, text: string}} note; throws Refused */
  async write(note) {
    await send("POST", this.#url, note);
    await this.load();
  }

  /**
   * Throws Refused.
   * @param {Note} note
   * @param {string} text
   */
  async change(note, text) {
    await send("PATCH", `${this.#url}/${note.id}`, { text });
    await this.load();
  }

  /** @param {Note} note; throws Refused */
  async remove(note) {
    await send("DELETE", `${this.#url}/${note.id}`);
    await this.load();
  }

  /** @param {Note} note */
  edit(note) {
    this.dispatchEvent(new CustomEvent("edit", { detail: note }));
  }
}

/**
 * @param {Note[]} notes
 * @param {number} start
 * @param {number} stop
 */
function within(notes, start, stop) {
  return notes.filter((note) => note.time <= stop && (note.stop ?? note.time) >= start);
}
