// The keyboard: which command a key gives, and what goes on while one is held.

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("./commands.js").Command} Command */

/** @type {Record<string, string>} keys with Shift, which ask for the same */
const WITH_SHIFT = { "<": ",", ">": "." };

export class Keys {
  /** @type {Map<string, NonNullable<Command["runs"]>[number]>} */
  #runs = new Map();
  /** @type {Map<string, NonNullable<Command["holds"]>[number]>} */
  #holds = new Map();
  /** @type {Set<NonNullable<Command["holds"]>[number]>} */
  #held = new Set();
  #context;

  /**
   * @param {Context} context
   * @param {Command[]} commands
   */
  constructor(context, commands) {
    this.#context = context;
    for (const { keys = [], runs = [], holds = [] } of commands) {
      for (const way of keys) {
        runs.forEach((run, place) => this.#runs.set(way[place], run));
        holds.forEach((hold, place) => this.#holds.set(way[place], hold));
      }
    }
  }

  /**
   * @param {Document} document
   * @param {() => void} onMotion called when a key is held that `advance` moves by
   */
  attach(document, onMotion) {
    document.addEventListener("keydown", (event) => {
      this.#down(event);
      if (this.active) onMotion();
    });
    document.addEventListener("keyup", (event) => {
      const hold = this.#holds.get(nameOf(event));
      if (hold) this.#held.delete(hold);
    });
    window.addEventListener("blur", () => this.#held.clear());
  }

  get active() {
    return this.#held.size > 0;
  }

  /** @param {number} elapsed seconds since the call before */
  advance(elapsed) {
    for (const hold of this.#held) hold(this.#context, elapsed);
  }

  /** @param {KeyboardEvent} event */
  #down(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
      return;
    if (document.querySelector("dialog[open]")) return;
    const hold = this.#holds.get(nameOf(event));
    if (hold) {
      if (!event.repeat) this.#held.add(hold);
      event.preventDefault();
    } else if (this.#press(event)) {
      event.preventDefault();
    }
  }

  /**
   * @param {KeyboardEvent} event
   * @returns {boolean} whether the key means anything
   */
  #press(event) {
    const run = this.#runs.get(nameOf(event));
    if (!run || (event.key === " " && isPressedBySpace(event.target))) return false;
    run(this.#context, event);
    return true;
  }
}

/** @param {KeyboardEvent} event */
function nameOf({ key }) {
  return WITH_SHIFT[key] ?? key.toLowerCase();
}

/** @param {EventTarget|null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
}

/** @param {EventTarget|null} target; whether the space bar presses it, instead of playing */
function isPressedBySpace(target) {
  return target instanceof HTMLElement && ["BUTTON", "SUMMARY"].includes(target.tagName);
}
