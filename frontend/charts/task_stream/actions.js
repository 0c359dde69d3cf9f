// The actions of spans and the colours that Dask gives them.

import { ACTIONS, STATUSES } from "../../contract.js";

export const COMPUTE = ACTIONS.indexOf("compute");
export const ERROR = STATUSES.indexOf("error");

export const OVERLAY_ALPHA = 0.4; // of all but compute, as in Dask
export const ERRED_COLOR = "#000000";
export const ACTION_COLORS = ["", "#ff0000", "#ffa500", "#ffa500", "#808080", "#808080", "#5f7fa8"];

/** @typedef {import("../drawing/pixels.js").Stripes} Stripes */

/** Slots: one small number for each colour that a span can have. */
const TRANSFER_SLOT = 0;
const DISK_SLOT = 1;
const SERIALIZATION_SLOT = 2;
const LONG_RUNNING_SLOT = 3;
export const ERRED_SLOT = 4;
export const FIRST_PREFIX_SLOT = 6; // 5: a prefix that isn't known

const SLOTS = [
  NaN,
  TRANSFER_SLOT,
  DISK_SLOT,
  DISK_SLOT,
  SERIALIZATION_SLOT,
  SERIALIZATION_SLOT,
  LONG_RUNNING_SLOT,
];
export const SLOT_COLORS = ["#ff0000", "#ffa500", "#808080", "#5f7fa8", ERRED_COLOR, "#888888"];

/**
 * @param {number} action
 * @param {number} status
 * @param {number} prefixIndex Model.prefixIndex of the prefix
 */
export function slotOf(action, status, prefixIndex) {
  if (action !== COMPUTE) return SLOTS[action] ?? SERIALIZATION_SLOT;
  return status === ERROR ? ERRED_SLOT : FIRST_PREFIX_SLOT + prefixIndex;
}

/** What marks bars besides their colour, by slot: transfer, disk, serialization, long-running, erred. */
/** @type {{stripes: Stripes, color: [number, number, number]}[]} */
export const SLOT_MARKS = [
  { stripes: { across: 1, down: 7, period: 8 }, color: [230, 60, 60] },
  { stripes: { across: 0, down: 1, period: 6 }, color: [214, 138, 0] },
  { stripes: { across: 1, down: 0, period: 6 }, color: [128, 128, 128] },
  { stripes: { across: 0, down: 1, period: 12 }, color: [95, 127, 168] },
  { stripes: { across: 1, down: 1, period: 8 }, color: [255, 120, 110] },
];

/** @param {number} slot; whether it lies over what the thread computes, instead of being part of it */
export function isOverlay(slot) {
  return slot < ERRED_SLOT;
}
