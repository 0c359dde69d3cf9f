// The commands of a timeline, each declared together with its keys: the keyboard and the help are made from them.

/** @typedef {import("../../types.js").Context} Context */

/**
 * Each of `keys` is a way to give the command, with a key for each of `runs` or `holds`, as for back and forward.
 * `gestures`: how mouse and fingers do the same. `holds`: what happens while the key is held, for a time in seconds.
 * @typedef {{does: string, keys?: string[][], gestures?: string[],
 *   runs?: ((context: Context, event: KeyboardEvent) => void)[],
 *   holds?: ((context: Context, seconds: number) => void)[]}} Command
 */

const ZOOM = 2.5; // times per second, while held
const PAN = 0.8; // windows per second, while held
/** @type {Record<string, string>} */
const NAMES = {
  " ": "Space",
  arrowup: "↑",
  arrowdown: "↓",
  arrowleft: "←",
  arrowright: "→",
  escape: "Esc",
  home: "Home",
  end: "End",
};

/** @type {Command[]} */
export const COMMANDS = [
  {
    does: "zoom in and out",
    keys: [
      ["w", "s"],
      ["arrowup", "arrowdown"],
    ],
    gestures: ["Ctrl or ⌘ + wheel", "pinch"],
    holds: [
      (context, seconds) => zoom(context, ZOOM ** -seconds),
      (context, seconds) => zoom(context, ZOOM ** seconds),
    ],
  },
  {
    does: "move the window",
    keys: [
      ["a", "d"],
      ["arrowleft", "arrowright"],
    ],
    gestures: ["drag", "Shift + wheel"],
    holds: [
      ({ timeline }, seconds) => timeline.pan(-PAN * seconds * timeline.length),
      ({ timeline }, seconds) => timeline.pan(PAN * seconds * timeline.length),
    ],
  },
  { does: "scroll the page; over the names of workers, the rows of the task stream", gestures: ["wheel"] },
  { does: "play and pause", keys: [[" "]], runs: [({ timeline }) => timeline.toggle()] },
  {
    does: "step back and forward (with Shift: one second)",
    keys: [[",", "."]],
    runs: [
      ({ timeline }, event) => timeline.step(-stepOf(timeline, event)),
      ({ timeline }, event) => timeline.step(stepOf(timeline, event)),
    ],
  },
  {
    does: "previous and next event or note",
    keys: [["p", "n"]],
    runs: [
      ({ timeline, events }) => jumpTo(timeline, events.before(timeline.playhead)),
      ({ timeline, events }) => jumpTo(timeline, events.after(timeline.playhead)),
    ],
  },
  { does: "live", keys: [["l"]], runs: [({ timeline }) => timeline.goLive()] },
  { does: "show everything", keys: [["f"]], runs: [({ timeline }) => timeline.fit()] },
  {
    does: "go to the beginning and the end",
    keys: [["home", "end"]],
    runs: [({ timeline }) => timeline.jump(timeline.first), ({ timeline }) => timeline.jump(timeline.end)],
  },
  { does: "move the playhead, or select a task", gestures: ["click"] },
  { does: "zoom in", gestures: ["double click"] },
  { does: "clear the selection", keys: [["escape"]], runs: [({ selection }) => selection.clear()] },
];

/**
 * @param {Command} command
 * @returns {string} its keys and gestures as the help shows them: "W / S, ↑ / ↓, pinch"
 */
export function keysText({ keys = [], gestures = [] }) {
  const ways = keys.map((way) => way.map((key) => NAMES[key] ?? key.toUpperCase()).join(" / "));
  return [...ways, ...gestures].join(", ");
}

/**
 * @param {Context["timeline"]} timeline
 * @param {{time: number}|null} event
 */
export function jumpTo(timeline, event) {
  if (event) timeline.jump(event.time);
}

/** @param {Context} context @param {number} factor */
function zoom({ timeline, selection }, factor) {
  timeline.zoom(factor, selection.hover ?? timeline.playhead);
}

/** @param {Context["timeline"]} timeline @param {KeyboardEvent} event */
function stepOf(timeline, event) {
  return event.shiftKey ? 1 : timeline.length / timeline.width;
}
