// Paints a graph on a canvas: what is out of sight is left out, and names are drawn where they can be read.

import { fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";

/** @typedef {import("./layered_layout.js").Layout} Layout */
/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./nodes.js").Share} Share */
/** @typedef {import("./viewport.js").Viewport} Viewport */
/** @typedef {{width: number, height: number}} Box of a node, in px of the graph */
/**
 * `shares`: the colours of a node. `marked`: the selected nodes; `near`: their neighbours; what is neither is faint where
 * there is a selection. `pointed`: under the mouse or at the keyboard's place. `found`: by the search.
 * @typedef {{nodes: Nodes, layout: Layout, box: Box, viewport: Viewport, shares: (node: number) => Share[],
 *   marked: Set<number>, near: Set<number>, found: Set<number>, pointed: number|null}} Scene
 */

const FONT = 11; // px
const SMALLEST = 8; // px of the screen: names are not written smaller where the graph is zoomed out
const FAINT = 0.22;
const READABLE = 0.55; // scale from which on edges end with arrows
const LEADING = 1.15; // height of a line, relative to its letters
const LOWEST_BAR = 2; // px of the screen
const ARROW = 5;

/**
 * @param {CanvasRenderingContext2D} context in px of the screen
 * @param {Scene} scene
 */
export function paintGraph(context, scene) {
  const { viewport } = scene;
  context.save();
  context.translate(viewport.left, viewport.top);
  context.scale(viewport.scale, viewport.scale);
  paintEdges(context, scene);
  paintNodes(context, scene);
  context.restore();
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene */
function paintEdges(context, scene) {
  const { nodes, marked, viewport } = scene;
  const colors = theme();
  const [faint, strong] = [new Path2D(), new Path2D()];
  for (let edge = 0; edge < nodes.task.length; edge++) {
    const isStrong = marked.has(nodes.task[edge]) || marked.has(nodes.needed[edge]);
    addEdge(isStrong ? strong : faint, scene, nodes.needed[edge], nodes.task[edge]);
  }
  context.lineWidth = 1 / viewport.scale;
  context.strokeStyle = colors.muted;
  context.globalAlpha = marked.size ? FAINT : 0.6;
  context.stroke(faint);
  context.globalAlpha = 1;
  context.strokeStyle = colors.accent;
  context.lineWidth = 1.6 / viewport.scale;
  context.stroke(strong);
}

/** @param {Path2D} path @param {Scene} scene @param {number} from @param {number} to */
function addEdge(path, { layout: { x, y }, box, viewport }, from, to) {
  if (from === to) return;
  const [startX, endX] = [x[from] + box.width / 2, x[to] - box.width / 2];
  const [startY, endY] = [y[from], y[to]];
  const [left, top] = viewport.place(0, 0);
  const [right, bottom] = viewport.place(viewport.width, viewport.height);
  const reach = box.width;
  if (Math.max(startX, endX) + reach < left || Math.min(startX, endX) - reach > right) return;
  if (Math.max(startY, endY) < top || Math.min(startY, endY) > bottom) return;
  path.moveTo(startX, startY);
  if (viewport.scale < 0.15) {
    path.lineTo(endX, endY);
    return;
  }
  const bend = Math.max(Math.min(Math.abs(endX - startX) / 2, 80), 20);
  path.bezierCurveTo(startX + bend, startY, endX - bend, endY, endX, endY);
  if (viewport.scale < READABLE) return;
  path.moveTo(endX - ARROW, endY - ARROW / 1.5);
  path.lineTo(endX, endY);
  path.lineTo(endX - ARROW, endY + ARROW / 1.5);
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene */
function paintNodes(context, scene) {
  const { nodes, layout, viewport, box, marked, near, found, pointed } = scene;
  const colors = theme();
  const [left, top] = viewport.place(0, 0);
  const [right, bottom] = viewport.place(viewport.width, viewport.height);
  context.font = `${lettersAt(viewport.scale)}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.textAlign = "left";
  for (let node = 0; node < nodes.count; node++) {
    const [x, y] = [layout.x[node] - box.width / 2, layout.y[node] - box.height / 2];
    if (x > right || x + box.width < left || y > bottom || y + box.height < top) continue;
    const isOfSelection = marked.has(node) || near.has(node);
    const isFaint = !isOfSelection && (marked.size > 0 || (found.size > 0 && !found.has(node)));
    context.globalAlpha = isFaint ? FAINT : 1;
    paintNode(context, scene, node, x, y);
    const isMarked = marked.has(node) || node === pointed;
    context.strokeStyle = isMarked ? colors.accent : found.has(node) ? colors.warning : colors.border;
    context.lineWidth = (isMarked || found.has(node) ? 2.5 : 1) / viewport.scale;
    context.strokeRect(x, y, box.width, box.height);
  }
  context.globalAlpha = 1;
}

/** @param {CanvasRenderingContext2D} context @param {Scene} scene @param {number} node @param {number} x @param {number} y */
function paintNode(context, { nodes, viewport, box, shares }, node, x, y) {
  const colors = theme();
  const line = lettersAt(viewport.scale) * LEADING;
  const isReadable = line + LOWEST_BAR / viewport.scale <= box.height;
  context.fillStyle = colors.surface;
  context.fillRect(x, y, box.width, box.height);
  const bar = isReadable ? box.height - line : box.height;
  let from = x;
  for (const { color, share } of shares(node)) {
    context.fillStyle = color;
    context.fillRect(from, y + box.height - bar, box.width * share, bar);
    from += box.width * share;
  }
  if (!isReadable) return;
  context.fillStyle = colors.text;
  const margin = Math.min(4, 3 / viewport.scale);
  const name = fitText(context, nodes.labels[node], box.width - 2 * margin, true);
  context.fillText(name, x + margin, y + line / 2 + 0.5);
}

/** @param {number} scale @returns {number} px of the graph */
function lettersAt(scale) {
  return Math.max(FONT, SMALLEST / scale);
}

/**
 * The node at a place of the graph.
 * @param {Layout} layout @param {Box} box @param {[number, number]} place
 * @returns {number|null}
 */
export function nodeAt({ x, y }, box, [atX, atY]) {
  for (let node = 0; node < x.length; node++) {
    if (Math.abs(x[node] - atX) <= box.width / 2 && Math.abs(y[node] - atY) <= box.height / 2) return node;
  }
  return null;
}

/**
 * The node that an arrow key leads to: along edges to the left and right, to the nearest above and below.
 * @param {Layout} layout @param {Nodes} nodes @param {number} from @param {string} key ArrowLeft …
 * @returns {number} `from` where there is none
 */
export function nodeBeside({ x, y }, { task, needed, count }, from, key) {
  const isAlong = key === "ArrowLeft" || key === "ArrowRight";
  const [mine, others] = key === "ArrowLeft" ? [task, needed] : [needed, task];
  /** @type {Iterable<number>} */
  const candidates = isAlong
    ? others.filter((_, edge) => mine[edge] === from)
    : Array.from({ length: count }, (_, node) => node);
  let [best, least] = [from, Infinity];
  for (const node of candidates) {
    const [across, down] = [x[node] - x[from], y[node] - y[from]];
    if (node === from || (key === "ArrowUp" && down >= -1) || (key === "ArrowDown" && down <= 1)) continue;
    const distance = isAlong ? Math.abs(down) + Math.abs(across) : Math.abs(down) + 4 * Math.abs(across);
    if (distance < least) [best, least] = [node, distance];
  }
  return best;
}
