// Names of layers' bands. Layers about workers are split into bands of workers (docs/architecture/replay.md).

import { ALL_WORKERS, EACH_WORKER } from "../../contract.js";

const ALL = `.${ALL_WORKERS}`;
const EACH = `.${EACH_WORKER}`;

/**
 * @param {string} layer
 * @param {number} band
 */
export function bandLayer(layer, band) {
  return band ? `${layer}.${band}` : layer;
}

/** @param {string} layer; all of its workers together */
export function togetherLayer(layer) {
  return layer + ALL;
}

/** @param {string} layer; one value of each of its workers */
export function eachLayer(layer) {
  return layer + EACH;
}

/** @param {string} layer */
export function isEach(layer) {
  return layer.endsWith(EACH);
}

/** @param {string} layer */
export function isTogether(layer) {
  return layer.endsWith(ALL);
}

/** @param {string} layer or a band of it */
export function layerName(layer) {
  return layer.split(".")[0];
}

/** @param {{layer: string}} place of a tile; those of the task stream are loaded first */
export function isUrgent({ layer }) {
  return layerName(layer) === "spans";
}
