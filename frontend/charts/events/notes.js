// The notes of the window as a list. A note can be opened, and edited by its author.

import { element } from "../../element.js";
import { isoTime } from "../chart_menu/table.js";
import { formatDate, formatTime } from "../../timeline/times.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/marks/notes.js").Note} Note */

/** @type {Chart} */
export const notes = {
  name: "notes",
  title: "Notes",
  place: "side",
  part: "notes",
  layers: [],
  help: "Notes on the window. Click one to go to its time.",
  create: (element, context) => new NotesList(element, context),
};

class NotesList {
  #element;
  #context;
  #list = element("ul", "notes");
  #empty = element("p", "notes-empty muted");
  /** @type {Note[]|null} */
  #shown = null;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    parent.append(this.#list, this.#empty);
  }

  destroy() {
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  isEmpty({ start, stop }) {
    return !this.#context.notes.between(start, stop).length;
  }

  /** @param {View} view */
  draw(view) {
    const { notes } = this.#context;
    const found = notes.between(view.start, view.stop);
    this.#empty.hidden = found.length > 0;
    this.#empty.textContent = notes.list.length
      ? `None in the window, ${notes.list.length} in all.`
      : "None yet.";
    const known = this.#shown;
    if (known && known.length === found.length && found.every((note, place) => note === known[place])) return;
    this.#shown = found;
    this.#list.replaceChildren(...found.map((note) => this.#item(note)));
  }

  table() {
    const rows = (this.#shown ?? []).map(({ time, stop, text, author }) => [
      isoTime(time),
      stop === null ? null : isoTime(stop),
      author,
      text,
    ]);
    return { columns: ["begin (UTC)", "end (UTC)", "author", "note"], rows };
  }

  /** @param {Note} note */
  #item(note) {
    const until = note.stop === null ? "" : ` – ${formatTime(note.stop, 1)}`;
    const time = element("button", "note-time", formatTime(note.time, 1) + until);
    time.type = "button";
    time.title = `Go to ${formatDate(note.time)}`;
    time.addEventListener("click", () => this.#context.timeline.jump(note.time));
    const author = element("span", "note-author", note.author ?? "deleted user");
    const line = element("div", "note-head", time, author);
    if (note.edited !== null) line.append(element("span", "muted", "edited"));
    if (note.may_change) line.append(this.#changeButton(note));
    return element("li", "", line, element("p", "note-text", note.text));
  }

  /** @param {Note} note */
  #changeButton(note) {
    const button = element("button", "note-change", "change");
    button.type = "button";
    button.addEventListener("click", () => this.#context.notes.edit(note));
    return button;
  }
}
