// The graph of the window's groups, or of its tasks where these are few: what needs what, in which states the tasks were at
// the playhead, and where time went.

import { BOXES, heightOf, leastScale, roomOf } from "./boxes.js";
import { element } from "../../element.js";
import { formatCount, formatCountOf } from "../../formatting.js";
import { WindowData } from "../../timeline/window_data.js";
import { kindChoice } from "../data_table/kind_choice.js";
import { Shown } from "../drawing/shown.js";
import { Tooltip } from "../drawing/tooltip.js";
import { isDarkTheme } from "../heat_map/colors.js";
import { COLORINGS, legendOf, sharesOf } from "./coloring.js";
import { describe, noteText, summarize } from "./graph_note.js";
import { graphTable } from "./graph_table.js";
import { Layouts } from "./layouts.js";
import { NodeSearch } from "./node_search.js";
import { markedNodes, nodeNamed } from "./marked_nodes.js";
import { nodesOfGroups, nodesOfTasks } from "./nodes.js";
import { nodeAt, nodeBeside, paintGraph } from "./painter.js";
import { SelectedNode, neighbours } from "./selected_node.js";
import { Stage } from "./stage.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas} Schemas */
/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./nodes.js").Instant} Instant */
/** @typedef {import("./layered_layout.js").Layout} Layout */
/** @typedef {import("./boxes.js").Kind} Kind */
/** A graph with its layout; `key` is equal for graphs of equal nodes and edges. @typedef {{nodes: Nodes, key: string}} Shape */

const KINDS = { groups: "groups", tasks: "tasks (keys)" };
const READABLE = 0.8; // scale at which a node that is gone to is shown

/** @type {Chart} */
export const graph = {
  name: "graph",
  title: "Graph",
  place: "below",
  layers: [],
  answers: ["/group-graph"],
  help:
    "What needs what: groups of tasks, or the tasks where there are at most 5,000 in the window. Colours are the states of tasks at the playhead, in Dask's " +
    "colours, or where time went in the window. Drag to move it, Ctrl or ⌘ + wheel to zoom. Click a node to select its prefix, or task, in all charts. With the " +
    "keyboard: the arrow keys, Enter, + and −, 0.",
  create: (parent, context) => new Graph(parent, context),
};

class Graph {
  #parent;
  #context;
  /** by its button */
  #isWholeWanted = false;
  /** @type {Kind} */
  #kind = "groups";
  #tasks;
  #choice = element("select", "");
  #search = new NodeSearch();
  #legend = element("div", "graph-legend");
  #text = element("p", "muted graph-note");
  #note = element("p", "chart-empty");
  #stage;
  #tooltip;
  #selected;
  #layouts;
  /** @type {keyof typeof COLORINGS} */
  #coloring = "state";
  /** @type {unknown} the answer that #shape or #coming is made of */
  #answer = null;
  /** @type {Shape|null} what has a layout, and what waits for one */
  #shape = null;
  /** @type {Shape|null} */
  #coming = null;
  /** @type {Layout|null} */
  #layout = null;
  /** @type {Instant|null} */
  #instant = null;
  /** @type {number|null} node that was clicked: of several groups of a prefix, this one */
  #chosen = null;
  /** @type {number|null} */
  #pointed = null;
  #problem = "";
  #shown = new Shown();
  /** @type {View|null} */
  #view = null;

  /** @param {HTMLElement} parent @param {Context} context */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#tasks = new WindowData(context.source, "/task-graph");
    this.#tasks.addEventListener("change", () => this.#redraw());
    this.#layouts = new Layouts(
      context.source,
      (layout) => this.#place(layout),
      (message) => this.#fail(message),
    );
    this.#stage = new Stage(graph.title, {
      paint: () => this.#paint(),
      fit: () => this.#fit(),
      point: (place) => this.#point(place),
      choose: (place) => this.#choose(this.#nodeAt(place)),
      go: (key) => this.#go(key),
      enter: () => this.#choose(this.#pointed),
    });
    this.#tooltip = new Tooltip(this.#stage.element);
    this.#selected = new SelectedNode((node) => this.#goTo(node));
    parent.append(
      this.#makeBar(),
      this.#legend,
      this.#stage.element,
      this.#text,
      this.#selected.element,
      this.#note,
    );
    this.#text.setAttribute("aria-live", "polite");
  }

  destroy() {
    this.hide();
    this.#layouts.close();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#tasks.stop();
  }

  get #data() {
    return this.#kind === "groups" ? this.#context.answers["/group-graph"] : this.#tasks;
  }

  /** @param {View} view */
  draw(view) {
    this.#view = view;
    this.#data.update(view);
    this.#take();
    const { selection, model } = this.#context;
    if (
      !this.#shown.changes(
        this.#answer,
        this.#data.message,
        this.#layout,
        view.playhead,
        selection.prefix,
        selection.key,
        model.version,
        this.#parent.clientWidth,
        isDarkTheme(),
        this.#coloring,
        this.#problem,
      )
    )
      return;
    this.#instant = this.#shape?.nodes.at(view.playhead) ?? null;
    this.#render();
  }

  table() {
    const nodes = this.#shape?.nodes ?? null;
    return graphTable(nodes, this.#instant, this.#kind === "groups", this.#noteText());
  }

  #makeBar() {
    for (const [name, label] of Object.entries(COLORINGS)) this.#choice.append(new Option(label, name));
    this.#choice.addEventListener("change", () => {
      this.#coloring = /** @type {keyof typeof COLORINGS} */ (this.#choice.value);
      this.#redraw();
    });
    this.#search.addEventListener("found", () => this.#paint());
    this.#search.addEventListener("go", (event) =>
      this.#show(/** @type {CustomEvent<number>} */ (event).detail),
    );
    const choice = kindChoice("Nodes of the graph", KINDS, this.#kind, (kind) => this.#change(kind));
    return element(
      "div",
      "graph-bar",
      choice,
      element("label", "", "colour ", this.#choice),
      this.#search.field,
      this.#search.count,
      this.#stage.buttons,
    );
  }

  /** @param {Kind} kind */
  #change(kind) {
    if (kind === this.#kind) return;
    this.#kind = kind;
    this.#tasks.stop();
    this.#forget();
    this.#redraw();
  }

  #forget() {
    this.#answer = this.#shape = this.#coming = this.#layout = this.#instant = null;
    this.#chosen = this.#pointed = null;
    this.#search.searchIn([]);
    this.#stage.viewport.isWhole = true;
    this.#isWholeWanted = false;
  }

  #redraw() {
    this.#shown.forget();
    if (this.#view) this.draw(this.#view);
  }

  /** Makes nodes of a new answer; where nodes and edges are those that are shown, they stay where they are. */
  #take() {
    const { answer } = this.#data;
    if (answer === this.#answer) return;
    this.#answer = answer;
    if (!answer) return;
    const nodes =
      this.#kind === "groups"
        ? nodesOfGroups(/** @type {Schemas["GroupGraph"]} */ (answer))
        : nodesOfTasks(/** @type {Schemas["TaskGraph"]} */ (answer));
    const key = `${nodes.names.join("\n")}|${nodes.task}|${nodes.needed}`;
    if (key === this.#shape?.key) {
      this.#shape = { nodes, key };
      return;
    }
    this.#coming = { nodes, key };
    const { count, task, needed } = nodes;
    void this.#layouts.request({ count, task, needed, ...roomOf(this.#kind, this.#parent.clientWidth) });
  }

  /** @param {Layout} layout */
  #place(layout) {
    const [chosen, pointed] = [this.#nameOf(this.#chosen), this.#nameOf(this.#pointed)];
    this.#shape = this.#coming;
    this.#layout = layout;
    this.#problem = "";
    const again = (/** @type {string|null} */ name) => (name === null ? null : this.#nodeNamed(name));
    [this.#chosen, this.#pointed] = [again(chosen), again(pointed)];
    this.#search.searchIn(this.#shape?.nodes.names ?? []);
    this.#redraw();
  }

  /** @param {string} message */
  #fail(message) {
    this.#problem = `The graph can't be laid out: ${message}`;
    this.#redraw();
  }

  #render() {
    const nodes = this.#shape?.nodes;
    const isEmpty = !nodes?.count || !this.#layout || !this.#instant;
    for (const part of [this.#stage.element, this.#legend, this.#text]) part.hidden = isEmpty;
    this.#note.textContent = this.#noteText();
    this.#selected.show(nodes ?? null, this.#instant, this.#single());
    if (isEmpty || !nodes || !this.#instant) return;
    this.#legend.replaceChildren(...legendOf(this.#coloring, nodes, this.#instant));
    const { viewport, surface } = this.#stage;
    const width = Math.max(this.#parent.clientWidth, 50);
    const layout = /** @type {Layout} */ (this.#layout);
    viewport.resize(width, heightOf(layout, width));
    if (viewport.isWhole) viewport.fit(layout, this.#isWholeWanted ? 0 : leastScale(this.#kind, width));
    surface.canvas.setAttribute(
      "aria-label",
      `${graph.title}: ${formatCount(nodes.count)} ${KINDS[this.#kind]}, ${formatCountOf(nodes.task.length, "edge")}`,
    );
    this.#paint();
  }

  #paint() {
    const [nodes, layout, instant] = [this.#shape?.nodes, this.#layout, this.#instant];
    if (!nodes || !layout || !instant) return;
    const { surface, viewport } = this.#stage;
    surface.clear(viewport.width, viewport.height);
    const marked = this.#marked();
    const near = new Set(
      [...marked].flatMap((node) => [
        ...neighbours(nodes.task, nodes.needed, node),
        ...neighbours(nodes.needed, nodes.task, node),
      ]),
    );
    paintGraph(surface.context, {
      nodes,
      layout,
      viewport,
      box: BOXES[this.#kind],
      shares: sharesOf(this.#coloring, nodes, instant, this.#context.model),
      marked,
      near,
      found: new Set(this.#search.found),
      pointed: this.#pointed,
    });
    this.#text.textContent =
      this.#pointed === null
        ? summarize(nodes, instant, this.#kind === "groups")
        : describe(nodes, instant, this.#pointed);
  }

  #marked() {
    const { selection } = this.#context;
    return markedNodes(this.#shape?.nodes ?? null, this.#kind, selection, this.#chosen);
  }

  #single() {
    const marked = [...this.#marked()];
    return marked.length === 1 ? marked[0] : null;
  }

  #noteText() {
    return this.#problem || noteText(this.#data, this.#layout !== null, this.#context);
  }

  #fit() {
    if (!this.#layout) return;
    this.#isWholeWanted = true;
    this.#stage.viewport.fit(this.#layout);
    this.#paint();
  }

  /** @param {[number, number]} place px of the screen */
  #nodeAt(place) {
    return this.#layout && nodeAt(this.#layout, BOXES[this.#kind], this.#stage.viewport.place(...place));
  }

  /** @param {[number, number]|null} place */
  #point(place) {
    const node = place && this.#nodeAt(place);
    this.#stage.element.classList.toggle("is-on-node", node !== null);
    if (node !== this.#pointed) {
      this.#pointed = node;
      this.#paint();
    }
    const [nodes, instant] = [this.#shape?.nodes, this.#instant];
    if (place === null || node === null || !nodes || !instant) return this.#tooltip.hide();
    this.#tooltip.show(...place, nodes.names[node], instant.lines(node));
  }

  /** @param {string} key */
  #go(key) {
    const [nodes, layout] = [this.#shape?.nodes, this.#layout];
    if (!nodes?.count || !layout) return;
    const from = this.#pointed ?? this.#single();
    this.#show(from === null ? 0 : nodeBeside(layout, nodes, from, key));
  }

  /** @param {number} node */
  #show(node) {
    if (!this.#layout) return;
    this.#pointed = node;
    this.#tooltip.hide();
    this.#stage.viewport.show(this.#layout.x[node], this.#layout.y[node], READABLE);
    this.#paint();
  }

  /** @param {number} node */
  #goTo(node) {
    this.#show(node);
    if (!this.#marked().has(node) || this.#single() === null) this.#choose(node);
  }

  /** @param {number|null} node */
  #choose(node) {
    const nodes = this.#shape?.nodes;
    if (node === null || !nodes) return;
    const isChosen = this.#single() === node;
    this.#chosen = isChosen ? null : node;
    const prefix = isChosen ? null : nodes.prefixes[node];
    this.#context.selection.set({
      prefix,
      key: isChosen || this.#kind === "groups" ? null : nodes.names[node],
    });
    this.#redraw();
  }

  /** @param {number|null} node */
  #nameOf(node) {
    return node === null ? null : (this.#shape?.nodes.names[node] ?? null);
  }

  /** @param {string} name */
  #nodeNamed(name) {
    return this.#shape ? nodeNamed(this.#shape.nodes, name) : null;
  }
}
