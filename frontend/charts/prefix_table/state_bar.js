// The tasks of a prefix or group by their state, as a bar in the colours of the chart “Tasks by state”.

import { TASK_STATES } from "../../contract.js";
import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";
import { stateColors } from "../drawing/palette.js";
import { ORDER } from "../graph/states.js";

const FORGOTTEN_COLOR = "#d0d4db";
const TO_DO = ["waiting", "no-worker", "queued", "processing"].map((name) => TASK_STATES.indexOf(name));

/**
 * How many of the tasks are neither done nor failed.
 * @param {number[]} counts in the order of TASK_STATES
 */
export function tasksToDo(counts) {
  return TO_DO.reduce((sum, state) => sum + counts[state], 0);
}

/**
 * "3 processing, 40 memory", in the order in which tasks go through their states.
 * @param {number[]} counts
 */
export function describeStates(counts) {
  const texts = ORDER.filter((state) => counts[state]).map(
    (state) => `${formatCount(counts[state])} ${TASK_STATES[state]}`,
  );
  return texts.join(", ") || "no tasks";
}

/** @param {number[]} counts */
export function stateBar(counts) {
  const all = counts.reduce((sum, count) => sum + count, 0);
  const pieces = ORDER.filter((state) => counts[state]).map((state) => {
    const piece = mark(state, "");
    piece.style.width = `${((100 * counts[state]) / all).toFixed(3)}%`;
    return piece;
  });
  const bar = element("span", "state-bar", ...pieces);
  const text = describeStates(counts);
  bar.setAttribute("role", "img");
  bar.setAttribute("aria-label", text);
  bar.title = text;
  return bar;
}

/**
 * What the colours of bars mean: of the states that occur.
 * @param {Iterable<number[]>} rows
 * @returns {HTMLElement[]}
 */
export function stateLegend(rows) {
  const all = [...rows];
  const found = ORDER.filter((state) => all.some((counts) => counts[state] > 0));
  return found.map((state) => element("span", "", mark(state, "swatch"), TASK_STATES[state]));
}

/**
 * @param {number} state
 * @param {string} className
 */
function mark(state, className) {
  const name = TASK_STATES[state];
  if (name === "erred") return element("i", `${className} mark-erred`.trim());
  const made = element("i", className);
  made.style.backgroundColor = stateColors[name] ?? FORGOTTEN_COLOR;
  return made;
}
