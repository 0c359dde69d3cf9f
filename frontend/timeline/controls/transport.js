// The transport below the overview: play, step, speed, the times of window and playhead, live.

import { formatDuration } from "../../formatting.js";
import { jumpTo } from "./commands.js";
import { icon } from "./icons.js";
import { slotLabel } from "../slots.js";
import { digitsFor, formatDate, formatTime, formatUtc, zoneName } from "../times.js";
import { SPEEDS } from "../timeline.js";

/** @typedef {import("../timeline.js").Timeline} Timeline */

/**
 * @param {HTMLElement} element
 * @param {import("../../types.js").Context} context
 * @returns {() => void} to be called when the timeline or the selection has changed
 */
export function createTransport(element, { source, timeline, events, selection, model, freshness }) {
  element.setAttribute("role", "toolbar");
  element.setAttribute("aria-label", "Time");
  const pixel = () => timeline.length / timeline.width;
  const before = button(icon("previous"), "Previous event (P)", () =>
    jumpTo(timeline, events.before(timeline.playhead)),
  );
  const back = button(icon("back"), "Step back (,)", () => timeline.step(-pixel()));
  const play = button(icon("play"), "Play (space)", () => timeline.toggle());
  const forward = button(icon("forward"), "Step forward (.)", () => timeline.step(pixel()));
  const after = button(icon("next"), "Next event (N)", () =>
    jumpTo(timeline, events.after(timeline.playhead)),
  );
  const live = button("", "Follow live (L)", () => timeline.goLive());
  const behind = span("transport-behind");
  behind.setAttribute("role", "status");
  const everything = button("Fit", "Show everything (F)", () => timeline.fit());
  const speed = speedSelect(timeline);
  const chosen = button("", "Clear the selection (Esc)", () => selection.clear());
  chosen.className = "transport-selection";
  const taskHistory = document.createElement("a");
  taskHistory.className = "transport-history";
  taskHistory.textContent = "History";
  const playhead = span("transport-playhead");
  const times = span("transport-window");
  play.classList.add("transport-play");
  live.classList.add("transport-live");
  const buttons = document.createElement("div");
  buttons.className = "transport-buttons";
  buttons.append(before, back, play, forward, after, speed);
  const end = document.createElement("div");
  end.className = "transport-buttons";
  end.append(behind, everything, live);
  element.replaceChildren(buttons, playhead, times, chosen, taskHistory, end);
  const zone = zoneName();
  let wasMoving = false;

  return () => {
    const moving = timeline.playing || timeline.live;
    if (moving !== wasMoving) play.replaceChildren(icon(moving ? "pause" : "play"));
    wasMoving = moving;
    setTitle(play, moving ? "Pause (space)" : "Play (space)");
    chosen.hidden = selection.empty;
    setText(chosen, `✕ ${describeSelection(selection, model)}`);
    taskHistory.hidden = selection.key === null || source.pages === null;
    if (selection.key !== null)
      taskHistory.href = `${source.pages}tasks/?${new URLSearchParams({ key: selection.key })}`;
    before.disabled = !events.before(timeline.playhead);
    after.disabled = !events.after(timeline.playhead);
    speed.value = String(timeline.speed);
    const ended = timeline.ended !== null;
    setText(live, ended ? "End" : "● Live");
    setTitle(live, ended ? "Go to the cluster's end (L)" : "Follow live (L)");
    live.setAttribute("aria-pressed", String(timeline.live && freshness.isReceiving));
    setText(behind, timeline.isWaiting ? "waiting for data …" : freshness.text);
    behind.title = timeline.isWaiting
      ? "Playing goes on at its speed when the data of the playhead is loaded"
      : "How far the recording is behind the scheduler's clock";
    const digits = digitsFor(timeline.length);
    setText(playhead, `${formatTime(timeline.playhead, Math.max(digits, 1))} ${zone}`);
    playhead.title = `The playhead: ${formatDate(timeline.playhead)} ${zone}, ${formatUtc(timeline.playhead)}`;
    const [from, to] = [formatTime(timeline.start, digits), formatTime(timeline.stop, digits)];
    setText(times, `${from} – ${to} (${formatDuration(timeline.length)})`);
    times.title = `The window: ${formatUtc(timeline.start)} – ${formatUtc(timeline.stop)}`;
  };
}

/**
 * @param {import("../selection.js").Selection} selection
 * @param {import("../model.js").Model} model
 */
function describeSelection(selection, model) {
  if (selection.key !== null) return selection.key;
  if (selection.prefix !== null) return model.prefixName(selection.prefix);
  const slot = model.slotOf(selection.worker);
  return slot ? slotLabel(slot) : "";
}

/**
 * @param {Node|string} sign
 * @param {string} title
 * @param {() => void} action
 */
function button(sign, title, action) {
  const element = document.createElement("button");
  element.type = "button";
  element.append(sign);
  setTitle(element, title);
  element.addEventListener("click", (event) => {
    action();
    if (event.detail > 0) element.blur(); // so that the space bar means play again
  });
  return element;
}

/** @param {Timeline} timeline */
function speedSelect(timeline) {
  const select = document.createElement("select");
  select.setAttribute("aria-label", "Speed");
  select.title = "Speed";
  for (const speed of SPEEDS) select.append(new Option(`${speed}×`, String(speed)));
  select.addEventListener("change", () => timeline.setSpeed(Number(select.value)));
  return select;
}

/** @param {string} name */
function span(name) {
  const element = document.createElement("span");
  element.className = name;
  return element;
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * An icon is named by the title; a text names its button itself.
 * @param {HTMLElement} element
 * @param {string} title
 */
function setTitle(element, title) {
  if (element.title === title) return;
  element.title = title;
  if (element.firstElementChild) element.setAttribute("aria-label", title);
}
