// Dialogs that write: save the window as a run, and add or edit notes.

import { LONGEST_NOTE, LONGEST_RUN_NAME } from "../../contract.js";
import { element } from "../../element.js";
import { formatDuration } from "../../formatting.js";
import { send } from "../../sending.js";
import { SITE } from "../../site.js";
import { formatDate, formatTime } from "../../timeline/times.js";
import { FormDialog } from "./form_dialog.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../timeline/marks/notes.js").Note} Note */
/** @typedef {import("../../timeline/timeline.js").Timeline} Timeline */
/** @typedef {{start: number, stop: number}} Stretch */

/**
 * The buttons and dialogs of those who may write.
 * @param {HTMLElement} header
 * @param {Context} context
 * @returns {import("../../timeline/controls/commands.js").Command[]} that open them
 */
export function createWriting(header, context) {
  const cut = createRunDialog(header, context);
  const write = createNoteDialog(header, context);
  const buttons = element("div", "writing-buttons");
  buttons.append(
    button("Save as run", "Save the window as a run (R)", cut),
    button("Note", "Write a note (M)", write),
  );
  header.append(buttons);
  return [
    { does: "save the window as a run", keys: [["r"]], runs: [cut] },
    { does: "write a note", keys: [["m"]], runs: [write] },
  ];
}

/**
 * @param {HTMLElement} parent
 * @param {Context} context
 * @returns {() => void} opens the dialog for the window as it is then
 */
function createRunDialog(parent, { info, timeline }) {
  const name = element("input", "");
  name.required = true;
  name.maxLength = LONGEST_RUN_NAME;
  const tags = element("textarea", "mono");
  tags.rows = 3;
  tags.spellcheck = false;
  tags.placeholder = "git = 3f2a1c";
  let window = recordedWindow(timeline);
  const fields = [
    { name: "name", label: "Name", control: name },
    { name: "tags", label: "Tags", control: tags, help: "A line each: name = text" },
  ];
  const dialog = new FormDialog(parent, fields, async () => {
    const wanted = { cluster: info.id, name: name.value, tags: tags.value, ...window };
    const run = await send("POST", `${SITE}/api/v1/runs`, wanted);
    const link = element("a", "button primary", `Open ${run.name}`);
    link.href = `${SITE}/runs/${run.id}/`;
    dialog.showResult("The run is saved", link);
    tags.value = "";
  });
  return () => {
    window = recordedWindow(timeline);
    name.value = `${info.name} ${formatDate(window.start)}`.slice(-LONGEST_RUN_NAME);
    dialog.open(`Save ${describeWindow(window)} as a run`);
  };
}

/**
 * @param {HTMLElement} parent
 * @param {Context} context
 * @returns {() => void} opens the dialog for the playhead and the window as they are then
 */
function createNoteDialog(parent, { notes, timeline }) {
  const text = element("textarea", "");
  text.rows = 4;
  text.required = true;
  text.maxLength = LONGEST_NOTE;
  const place = element("select", "");
  let window = recordedWindow(timeline);
  let playhead = timeline.playhead;
  /** @type {Note|null} the one that is changed */
  let changed = null;
  const fields = [
    { name: "text", label: "Note", control: text },
    { name: "time", label: "Where", control: place },
  ];
  const dialog = new FormDialog(parent, fields, async () => {
    if (changed) await notes.change(changed, text.value);
    else if (place.value === "window")
      await notes.write({ time: window.start, stop: window.stop, text: text.value });
    else await notes.write({ time: playhead, stop: null, text: text.value });
    text.value = "";
    dialog.close();
  });
  const remove = dialog.addButton("Delete", async () => {
    if (changed) await notes.remove(changed);
    dialog.close();
  });
  const open = (/** @type {Note|null} */ note) => {
    window = recordedWindow(timeline);
    playhead = timeline.playhead;
    if (note || changed) text.value = note?.text ?? "";
    changed = note;
    remove.hidden = !note;
    place.disabled = note !== null;
    const at = note ? note.time : playhead;
    place.replaceChildren(new Option(`at ${formatTime(at, 1)}`, "playhead"));
    if (!note) place.append(new Option(describeWindow(window), "window"));
    dialog.open(note ? "Change the note" : "Write a note");
  };
  notes.addEventListener("edit", (event) => open(/** @type {CustomEvent<Note>} */ (event).detail));
  return () => open(null);
}

/**
 * @param {Timeline} timeline
 * @returns {Stretch} the part of the window where there is something
 */
function recordedWindow(timeline) {
  return { start: Math.max(timeline.start, timeline.first), stop: Math.min(timeline.stop, timeline.end) };
}

/** @param {Stretch} stretch */
function describeWindow({ start, stop }) {
  return `${formatTime(start, 1)} – ${formatTime(stop, 1)} (${formatDuration(stop - start)})`;
}

/**
 * @param {string} label
 * @param {string} title
 * @param {() => void} action
 */
function button(label, title, action) {
  const made = element("button", "", label);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", action);
  return made;
}
