// The profile of the window as a flame graph, with the root at the top.

import { element } from "../../element.js";
import { FlameControls } from "./controls.js";
import { DEEPEST, layOutFlames, nodeAt } from "./layout.js";
import { FlameTable } from "./table.js";
import { follow, makeTree, ordered, pathTo, samplesWith, sumStacks, usages } from "./tree.js";
import { describeNode, emptiness, heading, nameOf, placeOf, samples, share } from "./text.js";
import { fileColor } from "../drawing/palette.js";
import { Surface, fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { Tooltip } from "../drawing/tooltip.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Wanted} Wanted */
/** @typedef {import("./layout.js").Box} Box */

const ROW = 18; // px
const FONT = "11px system-ui, sans-serif";
const TEXT_COLOR = "#1b1f27"; // on the colours of files
const PAUSE = 300; // ms between two looks at the tiles
const LONGER = 8; // than a look takes is the pause after it
const FEW = 0.02; // of the samples: live, some are always new
const [ROOT_ALPHA, FADED_ALPHA] = [0.3, 0.28];
const EMPTY_TREE = makeTree(new Map(), /** @type {any} */ (null)).root;

/** @type {Chart} */
export const flameGraph = {
  name: "profile",
  title: "Profile",
  place: "below",
  layers: ["profile"],
  part: "code",
  help:
    "Where the code spent time in the window, from the samples that Dask takes of its threads. A frame is as wide as its share " +
    "of the samples, its callees are below it, and functions of one file have one colour. Click a frame to zoom in. " +
    "Dask samples computing threads every 10 ms (distributed.worker.profile.interval).",
  create: (element, context) => new FlameGraph(element, context),
};

class FlameGraph {
  #element;
  #context;
  #controls = new FlameControls();
  #table = new FlameTable();
  #surface;
  #tooltip;
  #empty = element("p", "chart-empty");
  #announcement = element("p", "hidden");
  #scroller = element("div", "flame-scroller");
  #stage = element("div", "flame-stage", this.#scroller);
  #graph = element("div", "flame-graph", this.#stage, this.#table.table);
  /** @type {View|null} */
  #view = null;
  #timer = 0;
  #next = -Infinity; // when to look again, in ms
  #root = EMPTY_TREE;
  /** @type {number[]} of what is zoomed into */
  #zoomed = [];
  /** @type {number[]|null} to the frame that the keys are at */
  #current = null;
  /** @type {Node|null} under the mouse */
  #hovered = null;
  /** @type {Box[][]} */
  #rows = [];

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    const { bar, heading: title, crumbs } = this.#controls;
    parent.append(bar, title, crumbs, this.#empty, this.#graph, this.#announcement);
    this.#surface = new Surface(this.#scroller, "Flame graph");
    this.#tooltip = new Tooltip(this.#stage);
    this.#announcement.setAttribute("role", "status");
    this.#scroller.tabIndex = 0;
    this.#scroller.setAttribute("role", "application");
    this.#scroller.setAttribute("aria-label", "Flame graph: arrow keys go from frame to frame, Enter zooms, Escape resets");
    this.#controls.addEventListener("source", () => this.#look());
    this.#controls.addEventListener("search", () => this.#search());
    this.#controls.addEventListener("zoom", (event) => this.#zoom(/** @type {CustomEvent<Node>} */ (event).detail));
    this.#table.addEventListener("choose", () => this.#chosen());
    this.#scroller.addEventListener("pointermove", (event) => this.#hover(event));
    this.#scroller.addEventListener("pointerleave", () => this.#leave());
    this.#scroller.addEventListener("click", (event) => this.#click(event));
    this.#scroller.addEventListener("keydown", (event) => this.#key(event));
    this.#scroller.addEventListener("blur", () => this.#setCurrent(null));
  }

  destroy() {
    clearTimeout(this.#timer);
    this.#element.replaceChildren();
  }

  /**
   * Live and while it plays the window moves with each frame: the tree is made a few times a second.
   * @param {View} view
   */
  draw(view) {
    if (this.#view?.tiles === view.tiles) return;
    this.#view = view;
    this.#timer ||= window.setTimeout(() => this.#look(), Math.max(0, this.#next - performance.now()));
  }

  get #focus() {
    return follow(this.#root, this.#zoomed);
  }

  /** @returns {Wanted} */
  get #wanted() {
    const { selection, model } = this.#context;
    return { source: this.#controls.source, slot: model.slotOf(selection.worker), prefix: selection.prefix };
  }

  /** Makes the tree of the window's samples anew. */
  #look() {
    clearTimeout(this.#timer);
    this.#timer = 0;
    const view = this.#view;
    if (!view) return;
    const began = performance.now();
    const wanted = this.#wanted;
    const sums = sumStacks(view.tiles.profile ?? [], view, wanted);
    const { root, missing, unnamed } = makeTree(sums, this.#context.stacks);
    void this.#context.stacks.want(missing);
    this.#root = root;
    this.#hovered = this.#hovered && follow(root, pathTo(this.#hovered));
    const loading = unnamed > root.total * FEW ? ` · loading the stacks of ${share(unnamed, root.total)} of them` : "";
    this.#controls.heading.textContent = root.total ? heading(this.#context, view, wanted, root.total) + loading : "";
    this.#empty.textContent = root.total ? "" : emptiness(this.#context, view, wanted);
    this.#graph.hidden = !root.total;
    this.#tabulate();
    this.#paint();
    const ended = performance.now();
    this.#next = ended + Math.max(PAUSE, LONGER * (ended - began));
  }

  #tabulate() {
    const focus = this.#focus;
    const whole = focus.of ? ` in ${nameOf(focus)}, by share of its ` : " by share of ";
    this.#controls.showCrumbs(focus);
    this.#table.show(usages(focus), focus.total, `Functions${whole}${samples(focus.total)}`);
    this.#tellMatched();
  }

  table() {
    const rows = usages(this.#focus).map(({ of, own, total }) => [of.name, of.file, own, total]);
    return { columns: ["function", "file", "own samples", "all samples"], rows };
  }

  /** @returns {((of: Code) => boolean)|null} what is looked for; null: nothing */
  get #matches() {
    const { chosen } = this.#table;
    const text = this.#controls.searched;
    if (chosen) return (of) => of.id === chosen.id;
    return text ? (of) => `${of.name} ${of.file}`.toLowerCase().includes(text) : null;
  }

  #tellMatched() {
    const matches = this.#matches;
    const focus = this.#focus;
    if (!matches) return this.#controls.showMatched("");
    const what = this.#table.chosen ? this.#table.chosen.name : `“${this.#controls.searched}”`;
    const found = samplesWith(focus, matches);
    const where = focus.of ? `of ${nameOf(focus)}` : "of all";
    this.#controls.showMatched(found ? `${what} is in ${share(found, focus.total)} ${where}` : `${what} is in no frame`);
  }

  #search() {
    this.#table.choose(null);
    this.#tellMatched();
    this.#paint();
  }

  #chosen() {
    if (this.#table.chosen) this.#controls.clearSearch();
    this.#tellMatched();
    this.#paint();
  }

  /** @param {Node} node */
  #zoom(node) {
    this.#zoomed = pathTo(node);
    this.#hovered = null;
    this.#tooltip.hide();
    this.#scroller.scrollTop = 0;
    // a zoomed graph is less high: the page would move under the mouse
    this.#graph.style.minHeight = node.of ? `${this.#graph.offsetHeight}px` : "";
    this.#tabulate();
    this.#paint();
  }

  #paint() {
    const focus = this.#focus;
    const width = this.#scroller.clientWidth;
    if (!this.#root.total || width < 1) return;
    this.#rows = layOutFlames(this.#root, focus, width);
    this.#surface.clear(width, this.#rows.length * ROW);
    const { context, canvas } = this.#surface;
    context.font = FONT;
    context.textBaseline = "middle";
    const matches = this.#matches;
    this.#rows.forEach((boxes, row) => {
      for (const box of boxes) this.#paintBox(box, row * ROW, matches);
    });
    if (this.#hovered) this.#outline(this.#hovered, 1);
    if (this.#current) this.#outline(follow(this.#root, this.#current), 2);
    const deeper = this.#rows.length >= DEEPEST ? `, the first ${DEEPEST} rows` : "";
    canvas.setAttribute("aria-label", `Flame graph of ${samples(focus.total)} in ${nameOf(focus)}${deeper}`);
    canvas.dataset.frames = String(this.#rows.reduce((sum, boxes) => sum + boxes.filter((box) => box.node).length, 0));
  }

  /**
   * @param {Box} box
   * @param {number} top px
   * @param {((of: Code) => boolean)|null} matches
   */
  #paintBox({ node, x, width }, top, matches) {
    const { context } = this.#surface;
    const colors = theme();
    const isFaded = matches && !(node?.of && matches(node.of));
    context.globalAlpha = isFaded ? FADED_ALPHA : node?.of ? 1 : ROOT_ALPHA;
    context.fillStyle = node?.of ? fileColor(node.of.file) : colors.muted;
    context.fillRect(x, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), ROW - 1);
    context.globalAlpha = 1;
    if (!node) return;
    context.fillStyle = node.of && !isFaded ? TEXT_COLOR : colors.text;
    const left = Math.max(x, 0) + 4;
    const text = fitText(context, node.of ? nameOf(node) : samples(node.total), width - 8);
    if (text) context.fillText(text, left, top + ROW / 2);
  }

  /**
   * @param {Node} node
   * @param {number} width px of the line
   */
  #outline(node, width) {
    const { context } = this.#surface;
    this.#rows.forEach((boxes, row) => {
      const box = boxes.find((one) => one.node === node);
      if (!box) return;
      context.strokeStyle = theme().text;
      context.lineWidth = width;
      context.strokeRect(box.x + width / 2, row * ROW + width / 2, Math.max(box.width - width, 1), ROW - width);
    });
  }

  /**
   * @param {MouseEvent} event
   * @returns {Node|null}
   */
  #locate(event) {
    const box = this.#surface.canvas.getBoundingClientRect();
    return nodeAt(this.#rows, Math.floor((event.clientY - box.top) / ROW), event.clientX - box.left);
  }

  /** @param {PointerEvent} event */
  #hover(event) {
    const node = this.#locate(event);
    this.#scroller.style.cursor = node ? "pointer" : "";
    if (node !== this.#hovered) {
      this.#hovered = node;
      this.#paint();
    }
    if (!node) return this.#tooltip.hide();
    const box = this.#stage.getBoundingClientRect();
    const lines = describeNode(node, this.#root, this.#focus, this.#wanted);
    this.#tooltip.show(event.clientX - box.left, event.clientY - box.top, nameOf(node), lines);
  }

  #leave() {
    this.#tooltip.hide();
    this.#hovered = null;
    this.#paint();
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const node = this.#locate(event);
    if (node) this.#zoom(node);
  }

  /** @param {KeyboardEvent} event */
  #key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const focus = this.#focus;
    if (event.key === "Escape") {
      if (!focus.of) return; // the page's: it clears the selection
      this.#zoom(this.#root);
      this.#setCurrent([]);
    } else {
      const current = this.#current ? follow(this.#root, this.#current) : null;
      const next = current ? neighbour(current, event.key) : event.key.startsWith("Arrow") ? focus : null;
      if (next) this.#setCurrent(pathTo(next));
      else if (current && event.key === "Enter") this.#zoom(current);
      else if (!event.key.startsWith("Arrow")) return;
    }
    event.preventDefault();
  }

  /** @param {number[]|null} path */
  #setCurrent(path) {
    this.#current = path;
    this.#paint();
    if (!path) return;
    const node = follow(this.#root, path);
    const where = node.of ? `, ${placeOf(node)}` : "";
    this.#announcement.textContent = `${nameOf(node)}${where}: ${samples(node.total)}, ${share(node.total, this.#root.total)}`;
    const row = this.#rows.findIndex((boxes) => boxes.some((box) => box.node === node));
    const box = this.#rows[row]?.find((one) => one.node === node);
    if (!box) return this.#tooltip.hide();
    const top = row * ROW;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight) this.#scroller.scrollTop = top - clientHeight / 2;
    const lines = describeNode(node, this.#root, this.#focus, this.#wanted);
    this.#tooltip.show(box.x + box.width / 2, top + ROW - this.#scroller.scrollTop, nameOf(node), lines);
  }
}

/**
 * The frame that an arrow key leads to: the caller, the callee with most samples, or what stands beside it.
 * @param {Node} node
 * @param {string} key
 * @returns {Node|null}
 */
function neighbour(node, key) {
  if (key === "ArrowUp") return node.parent;
  if (key === "ArrowDown") return [...node.children.values()].sort((one, other) => other.total - one.total)[0] ?? null;
  const beside = node.parent ? ordered(node.parent) : [];
  const at = beside.indexOf(node);
  if (key === "ArrowLeft") return beside[at - 1] ?? null;
  return key === "ArrowRight" ? (beside[at + 1] ?? null) : null;
}
