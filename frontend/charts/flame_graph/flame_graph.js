// The profile of the window as a flame graph, with the root at the top.

import { element } from "../../element.js";
import { AgainstControls } from "./against_controls.js";
import { FlameControls } from "./controls.js";
import { Difference } from "./difference.js";
import { FramesPainter, ROW } from "./frames_painter.js";
import { FunctionTables } from "./function_tables.js";
import { DEEPEST, layOutFlames, neighbour, nodeAt } from "./layout.js";
import { matcherOf, matchText } from "./search.js";
import { ATTACHED, OtherSide, grow, ownSide } from "./sides.js";
import { follow, functionName, largestOf, makeTree, pathTo } from "./tree.js";
import {
  describeDifference,
  describeNode,
  emptiness,
  heading,
  nameOf,
  nothingToCompare,
  samples,
  sayNode,
} from "./text.js";
import { Surface } from "../drawing/surface.js";
import { Tooltip } from "../drawing/tooltip.js";
import { ProfileOptions } from "./options.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./tree.js").Wanted} Wanted */
/** @typedef {import("./layout.js").Box} Box */
/** @typedef {import("./sides.js").Profile} Profile */

const PAUSE = 300; // ms between two looks at the tiles
const LONGER = 8; // than a look takes is the pause after it
const EMPTY_TREE = makeTree(new Map(), /** @type {any} */ (null)).root;

/** @type {Chart} */
export const flameGraph = {
  name: "profile",
  title: "Profile",
  place: "below",
  layers: ["profile"],
  answers: [ATTACHED],
  options: [ProfileOptions],
  part: "code",
  help:
    "Where the code spent time in the window, from the samples that Dask takes of its threads. A frame is as wide as its share " +
    "of the samples, its callees are below it, and functions of one file have one colour. Click a frame to zoom in. " +
    "Dask samples computing threads every 10 ms (distributed.worker.profile.interval). Native stacks, with the frames of C, Cython and Rust, " +
    "are py-spy's, where the agent runs it. Compared with another window or run, frames are " +
    "red where their share of the samples is greater than there, and blue where it is less.",
  create: (element, context) => new FlameGraph(element, context),
};

class FlameGraph {
  #element;
  #context;
  #controls = new FlameControls();
  #against;
  #other;
  #functions = new FunctionTables();
  #surface;
  #painter;
  #tooltip;
  #empty = element("p", "chart-empty");
  #note = element("p", "chart-empty");
  #announcement = element("p", "hidden");
  #scroller = element("div", "flame-scroller");
  #stage = element("div", "flame-stage", this.#scroller);
  #graph = element("div", "flame-graph", this.#stage, ...this.#functions.elements);
  /** @type {View|null} */
  #view = null;
  #timer = 0;
  #next = -Infinity; // when to look again, in ms
  #root = EMPTY_TREE;
  /** @type {Difference|null} to what it is compared with */
  #difference = null;
  /** @type {import("./function_tables.js").Profiles} */
  #profiles = { drawn: "", other: "", total: 0, source: "tasks" };
  /** @type {number[]} of what is zoomed into */
  #zoomed = [];
  /** @type {number[]|null} to the frame that the keys are at */
  #current = null;
  /** @type {Node|null} under the mouse */
  #hovered = null;
  /** @type {Box[][]} */
  #rows = [];
  #onAttached = () => this.#schedule();

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#element = parent;
    this.#context = context;
    this.#against = new AgainstControls(context);
    this.#other = new OtherSide(context);
    const { bar, heading: title, crumbs } = this.#controls;
    parent.append(
      bar,
      this.#against.bar,
      title,
      this.#note,
      this.#against.legend,
      crumbs,
      this.#empty,
      this.#graph,
      this.#announcement,
    );
    this.#surface = new Surface(this.#scroller, "Flame graph");
    this.#painter = new FramesPainter(this.#surface);
    this.#tooltip = new Tooltip(this.#stage);
    this.#announcement.setAttribute("role", "status");
    this.#scroller.tabIndex = 0;
    this.#scroller.setAttribute("role", "application");
    this.#scroller.setAttribute(
      "aria-label",
      "Flame graph: arrow keys go from frame to frame, Enter zooms, Escape resets",
    );
    this.#controls.addEventListener("source", () => this.#look());
    this.#controls.addEventListener("search", () => this.#search());
    this.#controls.addEventListener("zoom", (event) =>
      this.#zoom(/** @type {CustomEvent<Node>} */ (event).detail),
    );
    this.#other.addEventListener("change", () => this.#schedule());
    if (context.info.attached_files) {
      this.#controls.offerFiles();
      context.answers[ATTACHED].addEventListener("change", this.#onAttached);
    }
    this.#functions.addEventListener("choose", () => this.#chosen());
    this.#scroller.addEventListener("pointermove", (event) => this.#hover(event));
    this.#scroller.addEventListener("pointerleave", () => this.#leave());
    this.#scroller.addEventListener("click", (event) => this.#click(event));
    this.#scroller.addEventListener("keydown", (event) => this.#key(event));
    this.#scroller.addEventListener("blur", () => this.#setCurrent(null));
  }

  destroy() {
    clearTimeout(this.#timer);
    if (this.#context.info.attached_files)
      this.#context.answers[ATTACHED].removeEventListener("change", this.#onAttached);
    this.hide();
    this.#element.replaceChildren();
  }

  hide() {
    this.#other.release();
  }

  /** @param {View} view */
  cover(view) {
    this.#other.cover(view);
  }

  /**
   * Live and while it plays the window moves with each frame: the tree is made a few times a second.
   * @param {View} view
   */
  draw(view) {
    if (this.#view?.tiles === view.tiles) return;
    this.#view = view;
    this.#against.show();
    void this.#against.loadRuns();
    this.#schedule();
  }

  #schedule() {
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
    if (this.#wanted.source === "files") this.#context.answers[ATTACHED].update(view);
    const own = grow(ownSide(this.#context, view, this.#wanted));
    const found = this.#other.side(view, this.#wanted);
    const other = found && typeof found !== "string" ? grow(found) : null;
    const isSwapped = this.#context.features.of(ProfileOptions).isSwapped && (other?.root.total ?? 0) > 0;
    const drawn = other && isSwapped ? other : own;
    this.#root = drawn.root;
    this.#zoomFromAddress();
    this.#hovered = this.#hovered && follow(this.#root, pathTo(this.#hovered));
    this.#compare(drawn, drawn === own ? other : own);
    this.#note.textContent =
      typeof found === "string" ? found : other && !other.root.total ? nothingToCompare(other.side) : "";
    this.#empty.textContent = this.#root.total ? "" : emptiness(drawn.side);
    this.#graph.hidden = !this.#root.total;
    this.#tabulate();
    this.#paint();
    const ended = performance.now();
    this.#next = ended + Math.max(PAUSE, LONGER * (ended - began));
  }

  /**
   * @param {Profile} drawn
   * @param {Profile|null} other
   */
  #compare(drawn, other) {
    const { root, side } = drawn;
    this.#difference = root.total && other?.root.total ? new Difference(root, other.root) : null;
    this.#profiles = {
      drawn: side.name,
      other: other?.side.name ?? "",
      total: root.total,
      source: side.wanted.source,
    };
    this.#controls.heading.textContent = root.total ? heading(drawn, this.#difference && other) : "";
    this.#against.explain(this.#difference && this.#difference.scale, side.name, this.#profiles.other);
    this.#graph.classList.toggle("is-compared", this.#difference !== null);
  }

  #tabulate() {
    const focus = this.#focus;
    this.#controls.showCrumbs(focus);
    this.#functions.show(focus, this.#difference, this.#profiles);
    this.#tellMatched();
  }

  table() {
    return this.#functions.table();
  }

  get #sought() {
    return { chosen: this.#functions.chosen, text: this.#controls.searched };
  }

  #tellMatched() {
    this.#controls.showMatched(matchText(this.#sought, this.#focus));
  }

  #search() {
    this.#functions.clear();
    this.#tellMatched();
    this.#paint();
  }

  #chosen() {
    if (this.#functions.chosen) this.#controls.clearSearch();
    this.#tellMatched();
    this.#paint();
  }

  /** As soon as the tree has the function. */
  #zoomFromAddress() {
    const { zoomed } = this.#context.features.of(ProfileOptions);
    const found = zoomed && !this.#zoomed.length ? largestOf(this.#root, zoomed) : null;
    if (found) this.#zoomed = pathTo(found);
  }

  /** @param {Node} node */
  #zoom(node) {
    this.#zoomed = pathTo(node);
    this.#context.features.of(ProfileOptions).set({ zoomed: node.of ? functionName(node.of) : "" });
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
    this.#painter.paint(this.#rows, width, {
      matches: matcherOf(this.#sought),
      difference: this.#difference,
      source: this.#profiles.source,
      hovered: this.#hovered,
      current: this.#current && follow(this.#root, this.#current),
    });
    const { canvas } = this.#surface;
    const deeper = this.#rows.length >= DEEPEST ? `, the first ${DEEPEST} rows` : "";
    const against = this.#difference ? `, compared with ${this.#profiles.other}` : "";
    canvas.setAttribute(
      "aria-label",
      `Flame graph of ${samples(focus.total, this.#profiles.source)} in ${nameOf(focus)}${deeper}${against}`,
    );
    canvas.dataset.compared = String(this.#difference !== null);
    canvas.dataset.frames = String(
      this.#rows.reduce((sum, boxes) => sum + boxes.filter((box) => box.node).length, 0),
    );
  }

  /**
   * The lines of a frame's tooltip.
   * @param {Node} node
   */
  #describe(node) {
    return [...describeNode(node, this.#root, this.#focus, this.#wanted), ...this.#compared(node)];
  }

  /** @param {Node} node @returns {[string, string][]} */
  #compared(node) {
    return this.#difference ? describeDifference(this.#difference.of(node), this.#profiles) : [];
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
    const lines = this.#describe(node);
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
    this.#announcement.textContent = sayNode(node, this.#root, this.#profiles.source, this.#compared(node));
    const row = this.#rows.findIndex((boxes) => boxes.some((box) => box.node === node));
    const box = this.#rows[row]?.find((one) => one.node === node);
    if (!box) return this.#tooltip.hide();
    const top = row * ROW;
    const { scrollTop, clientHeight } = this.#scroller;
    if (top < scrollTop || top + ROW > scrollTop + clientHeight)
      this.#scroller.scrollTop = top - clientHeight / 2;
    const lines = this.#describe(node);
    this.#tooltip.show(box.x + box.width / 2, top + ROW - this.#scroller.scrollTop, nameOf(node), lines);
  }
}
