// Task streams and memory of two runs, or of some of a run's workers, aligned at the runs' starts, on one axis of seconds.
// Each task stream has its own timeline; both show the same window.

import { ElapsedAxis } from "../../charts/comparison/elapsed_axis.js";
import { MemoryLines } from "../../charts/comparison/memory_lines.js";
import { runColors } from "../../charts/drawing/palette.js";
import { taskStream } from "../../charts/task_stream/task_stream.js";
import { followColorChoice } from "../../charts/drawing/color_choice.js";
import { element } from "../../element.js";
import { loadContext } from "../../timeline/context.js";
import { attachPointer } from "../../timeline/controls/gestures.js";
import { Selection } from "../../timeline/selection.js";
import { serverSource } from "../../timeline/sources/source.js";
import { Timeline } from "../../timeline/timeline.js";
import { RIGHT_GUTTER, leftGutter } from "../../types.js";
import { SITE } from "../../site.js";
import { LaneOptions } from "../../charts/task_stream/options.js";

/**
 * A side of a comparison; `lanes` says which of the run's lanes are shown.
 * @typedef {{run: Run, title: string, lanes?: {label: string, value: string}}} Side
 * @typedef {import("./parts.js").Comparison["memory"] & {title: string}} Memory
 */
/** @typedef {import("../../timeline/colors/prefix_colors.js").PrefixColors} PrefixColors */
/** @typedef {import("./parts.js").Run} Run */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").ChartInstance} ChartInstance */
/** @typedef {import("../../types.js").ClusterInfo} ClusterInfo */

const MEMORY_HEIGHT = 160; // px
const SIDES = [
  { label: "A", color: runColors.a },
  { label: "B", color: runColors.b },
];

export class Streams {
  #plots = element("div", "plots compare-plots");
  #line = element("div", "line-hover");
  #selection = new Selection();
  #timeline;
  #axis;
  #memory;
  #streams;
  #isMarked = false;

  /**
   * @param {HTMLElement} place
   * @param {Side[]} sides A and B
   * @param {Memory} memory
   * @param {PrefixColors} colors of both
   */
  constructor(place, [a, b], memory, colors) {
    const longest = Math.max(a.run.seconds, b.run.seconds);
    const bounds = { now: 0, first: 0, started: 0, last: longest, ended: longest };
    this.#timeline = new Timeline(/** @type {ClusterInfo} */ (bounds));
    const all = element("button", "", "Show all");
    all.type = "button";
    all.addEventListener("click", () => this.#timeline.fit());
    const hint = element(
      "p",
      "muted",
      "Zoom with Ctrl (⌘) + wheel, a pinch or a double click; drag to move. ",
      all,
    );
    place.append(hint, this.#plots);
    const panels = [this.#panel(""), this.#panel("a", a), this.#panel("b", b), this.#panel(memory.title)];
    this.#axis = new ElapsedAxis(panels[0]);
    const draw = () => this.#mark();
    this.#streams = [new Stream(panels[1], a, colors, draw), new Stream(panels[2], b, colors, draw)];
    this.#memory = new MemoryLines(panels[3], MEMORY_HEIGHT);
    this.#memory.show({
      width: memory.width,
      lines: memory.lines.map((values, at) => ({ ...SIDES[at], values })),
    });
    if (!memory.lines.flat().some((value) => value !== null)) {
      panels[3].replaceChildren(element("p", "muted chart-none", "No memory was recorded of A or B."));
    }
    this.#plots.append(this.#line);
    this.#attach();
    this.#mark();
  }

  /**
   * @param {string} title a heading, or "a" or "b" with the side
   * @param {Side} [side]
   */
  #panel(title, side) {
    const body = element("div", "panel-body");
    const panel = element("section", "panel panel-timeline", body);
    if (side) {
      panel.prepend(element("h3", "panel-title", letterOf(title), ` ${side.title}`));
      panel.dataset.stream = title;
    } else if (title) panel.prepend(element("h3", "panel-title", letterOf("a"), letterOf("b"), ` ${title}`));
    this.#plots.append(panel);
    return body;
  }

  #attach() {
    const plot = () => ({ left: leftGutter(), width: this.#width });
    attachPointer(this.#plots, this.#timeline, this.#selection, plot);
    this.#timeline.addEventListener("change", () => this.#mark());
    this.#selection.addEventListener("hover", () => this.#point());
    for (const name of ["resize", "themechange"]) window.addEventListener(name, () => this.#mark());
  }

  get #width() {
    return Math.max(this.#plots.clientWidth - leftGutter() - RIGHT_GUTTER, 50);
  }

  #mark() {
    if (this.#isMarked) return;
    this.#isMarked = true;
    requestAnimationFrame(() => {
      this.#isMarked = false;
      this.#draw();
    });
  }

  #draw() {
    const { start, stop } = this.#timeline;
    const width = this.#width;
    this.#axis.draw(start, stop, width);
    for (const stream of this.#streams) stream.draw(start, stop, width);
    this.#memory.draw(start, stop, width);
    this.#point();
    this.#plots.dataset.drawn = String(this.#streams.every((stream) => stream.isDrawn));
  }

  #point() {
    const { hover } = this.#selection;
    const { start, stop } = this.#timeline;
    const share = hover === null ? -1 : (hover - start) / (stop - start);
    this.#line.hidden = !(share >= 0 && share <= 1);
    this.#line.style.transform = `translateX(${Math.round(leftGutter() + share * this.#width)}px)`;
  }
}

/** @param {string} side */
function letterOf(side) {
  return element("span", `run-letter run-letter-${side}`, side.toUpperCase());
}

/** The task stream of one side. */
class Stream {
  #side;
  #colors;
  #onChange;
  /** @type {{context: Context, chart: ChartInstance}|null} */
  #loaded = null;
  #revision = 0;

  /**
   * @param {HTMLElement} place
   * @param {Side} side
   * @param {PrefixColors} colors
   * @param {() => void} onChange called when there is more to draw
   */
  constructor(place, side, colors, onChange) {
    this.#side = side;
    this.#colors = colors;
    this.#onChange = onChange;
    void this.#load(place);
  }

  get isDrawn() {
    return this.#loaded !== null && !this.#loaded.context.tiles.loading;
  }

  /** @param {HTMLElement} place */
  async #load(place) {
    try {
      const context = await loadContext(serverSource(`${SITE}/api/v1/runs/${this.#side.run.id}/timeline`), [
        taskStream,
      ]);
      const { tiles, selection, features, model, stragglers, attempts, stolen, lineage } = context;
      if (this.#side.lanes) features.of(LaneOptions).set(this.#side.lanes);
      model.shareColors(this.#colors);
      followColorChoice((backgrounds, isExact) => model.setColors(backgrounds, isExact));
      const changing = [tiles, selection, features, model, stragglers, attempts, stolen, lineage];
      for (const each of changing) each.addEventListener("change", this.#onChange);
      this.#loaded = { context, chart: taskStream.create(place, context) };
      this.#onChange();
    } catch (error) {
      const why = /** @type {Error} */ (error).message;
      place.append(element("p", "danger chart-none", `Loading the task stream failed: ${why}.`));
    }
  }

  /**
   * @param {number} start seconds since the run's start
   * @param {number} stop
   * @param {number} width px of the plot
   */
  draw(start, stop, width) {
    if (!this.#loaded) return;
    const { start: began, seconds } = this.#side.run;
    const window = { start: began + start, stop: began + stop, playhead: began + seconds };
    this.#revision += 1;
    const pointed = { hover: null, state: null, isStateCurrent: true };
    const { chart } = this.#loaded;
    chart.draw({
      ...window,
      live: false,
      width,
      revision: this.#revision,
      tiles: {},
      unloaded: {},
      ...pointed,
    });
    if (chart.isPartial) this.#onChange();
  }
}
