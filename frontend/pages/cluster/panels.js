// The panels of the charts: which ones, in their order; only visible ones are drawn.

import { chartMenu } from "../../charts/chart_menu/menu.js";
import { DEFAULT_TAB } from "../../contract.js";
import { element } from "../../element.js";
import { marks } from "../../tabs/marks.js";
import { formatTime } from "../../timeline/times.js";
import { Arrangement } from "./arrangement.js";
import { ChartsMenu } from "./charts_menu.js";
import { PanelMoves } from "./panel_moves.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").ChartInstance} ChartInstance */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../timeline/address.js").Address} Address */
/** @typedef {{chart: Chart, panel: HTMLElement, instant: HTMLElement, instance: ChartInstance, inSight: boolean,
 *   drawn: boolean, waits: boolean, failed: boolean}} Panel */

const LONGEST_FRAME = 50; // ms: in frames that took longer so far, panels that may wait are left for the next

export class Panels {
  /** @type {Map<string, Panel>} by the chart's name */
  #panels = new Map();
  #places;
  #chartsOf;
  /** @type {Chart[]} */
  #charts = [];
  /** @type {Chart[]} of other tabs */
  #others = [];
  #arrangement;
  #menu;
  #moves;
  #context;
  #address;
  /** Called when others are in sight than before. */
  onChange = () => {};
  #observer;
  /** @type {Set<string>} */
  #layers = new Set();
  /** @type {View|null} */
  #view = null;
  /** of the view for which it was asked which charts are empty */
  #revision = -1;

  /**
   * @param {{plots: HTMLElement, side: HTMLElement, above: HTMLElement, below: HTMLElement, header: HTMLElement}} places
   * @param {{own: () => Chart[], all: () => Chart[]}} charts of the open tab, and of all tabs
   * @param {Context} context
   * @param {Address} address knows which are shown
   */
  constructor(places, charts, context, address) {
    this.#places = places;
    this.#chartsOf = charts;
    this.#arrangement = new Arrangement(address, charts.own);
    this.#context = context;
    this.#address = address;
    this.#observer = new IntersectionObserver((entries) => this.#observe(entries), { rootMargin: "100px" });
    this.#moves = new PanelMoves(this.#arrangement, () => this.#rearrange());
    const content = () => ({
      own: this.#charts,
      others: this.#others,
      hasPresets: address.tab === DEFAULT_TAB,
    });
    this.#menu = new ChartsMenu(places.header, this.#arrangement, content, () => this.#rearrange());
    context.model.addEventListener("change", () => {
      const count = this.#charts.length + this.#others.length;
      this.#find();
      if (this.#charts.length + this.#others.length !== count) this.#show();
    });
    this.open();
  }

  /** Shows the charts of the open tab. */
  open() {
    this.#find();
    this.#show();
  }

  /** Finds the charts that have anything to show. */
  #find() {
    this.#charts = this.#there(this.#chartsOf.own());
    const others = new Map(this.#chartsOf.all().map((chart) => [chart.name, chart]));
    for (const { name } of this.#charts) others.delete(name);
    this.#others = this.#there([...others.values()]);
  }

  #show() {
    this.#menu.fill();
    this.#rearrange();
  }

  #rearrange() {
    this.#revision = -1;
    this.#menu.update();
    this.#update();
  }

  /** @param {Chart[]} charts */
  #there(charts) {
    return charts.filter(({ isThere }) => isThere?.(this.#context) ?? true);
  }

  /** The layers that the charts in sight draw. */
  layers() {
    const inSight = [...this.#panels.values()].filter(({ inSight, panel }) => inSight && !panel.hidden);
    const layers = new Set(inSight.flatMap((panel) => this.#layersOf(panel.chart)));
    for (const layer of this.#layers) if (!layers.has(layer)) this.#context.tiles.release("page", layer);
    this.#layers = layers;
    return layers;
  }

  /** @param {Chart} chart */
  #layersOf({ layers }) {
    return typeof layers === "function" ? layers(this.#context) : layers;
  }

  /**
   * Takes the tiles of layers that only the charts know.
   * @param {View} view
   */
  cover(view) {
    for (const { inSight, failed, instance } of this.#panels.values())
      if (inSight && !failed) instance.cover?.(view);
  }

  /**
   * Draws the panels. While a page opens they take turns, so that no frame is long: those that waited are drawn first.
   * Later only a panel's first drawing may wait, which takes much longer than others.
   * @param {View} view
   * @param {{began: number, isOpening: boolean, isRest: boolean, isStateNew: boolean}} frame when it began, as performance.now();
   *   whether the page opens; whether nothing changed but that panels wait; whether the state is new and takes long to show:
   *   then those that show it are drawn alone
   * @returns {boolean} whether all are drawn; false: some wait for the next frame
   */
  draw(view, { began, isOpening, isRest, isStateNew }) {
    this.#view = view;
    const isRevised = view.revision !== this.#revision;
    this.#revision = view.revision;
    for (const panel of this.#panels.values())
      if (isRevised || panel.panel.hidden) this.#hideIfEmpty(panel, view);
    let hasDrawn = false;
    // all that show the state are of one instant, in sight or not
    const due = [...this.#panels.values()].filter(
      ({ failed, inSight, chart, panel }) => !failed && !panel.hidden && (inSight || chart.showsState),
    );
    const waiting = due.filter(({ waits }) => waits);
    for (const panel of isRest ? waiting : [...waiting, ...due.filter(({ waits }) => !waits)]) {
      const mayWait = isOpening || !panel.drawn;
      const isLate = hasDrawn && performance.now() - began > LONGEST_FRAME;
      panel.waits = (isStateNew && !panel.chart.showsState) || (mayWait && isLate);
      if (panel.waits) continue;
      this.#drawPanel(panel, view);
      hasDrawn = true;
    }
    return !due.some(({ waits, instance }) => waits || instance.isPartial);
  }

  /**
   * @param {Panel} panel
   * @param {View} view
   */
  #drawPanel(panel, view) {
    panel.drawn = true;
    try {
      panel.instance.draw(view);
      this.#hideIfEmpty(panel, view);
      if (panel.chart.showsState) showInstant(panel, view);
      else if (panel.instance.summary !== undefined) setText(panel.instant, panel.instance.summary);
    } catch (error) {
      panel.failed = true;
      console.error(`the chart ${panel.chart.name} can't be drawn`, error);
      panel.panel.append(element("p", "danger", `This chart can't be drawn: ${error}`));
    }
  }

  /** Whether a panel that was drawn left a part for the next frame. */
  get isPartial() {
    return this.#partial.length > 0;
  }

  /** Draws what the frame before has left of its panels. */
  goOn() {
    for (const panel of this.#partial) if (this.#view) this.#drawPanel(panel, this.#view);
  }

  /** @returns {Panel[]} those that were drawn in part */
  get #partial() {
    return [...this.#panels.values()].filter(
      ({ inSight, failed, drawn, instance }) => inSight && !failed && drawn && instance.isPartial,
    );
  }

  /**
   * On the first tab, which sums up, what has nothing to show takes no room, and tracks of marks don't on any. Other charts
   * say why there is nothing.
   * @param {Panel} panel
   * @param {View} view
   */
  #hideIfEmpty({ panel, chart, instance }, view) {
    const mayHide = this.#address.tab === DEFAULT_TAB || marks.includes(chart);
    panel.hidden = mayHide && (instance.isEmpty?.(view) ?? false);
  }

  /** @returns {Chart[]} in their order */
  get #shown() {
    const known = new Map([...this.#others, ...this.#charts].map((chart) => [chart.name, chart]));
    return this.#arrangement.places.flatMap(({ name }) => known.get(name) ?? []);
  }

  #update() {
    const shown = this.#shown;
    for (const [name, panel] of this.#panels) {
      if (shown.some((chart) => chart.name === name)) continue;
      this.#observer.unobserve(panel.panel);
      panel.instance.destroy();
      panel.panel.remove();
      this.#panels.delete(name);
    }
    for (const chart of shown) {
      const panel = this.#panels.get(chart.name) ?? this.#create(chart);
      const height = this.#arrangement.heightOf(chart.name);
      panel.instance.resize?.({ height, fills: chart.fills ?? false });
    }
    const { plots, side, above, below } = this.#places;
    for (const [place, column] of Object.entries({ timeline: plots, side, above, below }))
      this.#order(
        column,
        shown.filter((chart) => chart.place === place),
      );
    this.#places.side.hidden = !this.#places.side.childElementCount;
    this.onChange();
  }

  /**
   * Puts panels into a column in their order. Those that stand there stay untouched: moved, one loses focus and pointer.
   * @param {HTMLElement} column
   * @param {Chart[]} charts
   */
  #order(column, charts) {
    const wanted = charts.flatMap(({ name }) => this.#panels.get(name)?.panel ?? []);
    const there = [...column.children].filter((child) => child instanceof HTMLElement && child.dataset.chart);
    if (wanted.length === there.length && wanted.every((panel, place) => panel === there[place])) return;
    column.append(...wanted);
  }

  /** @param {Chart} chart */
  #create(chart) {
    const heading = element("h2", "panel-title", chart.title);
    heading.title = chart.help;
    const instant = element("span", "panel-instant");
    heading.append(" ", instant);
    const body = element("div", "panel-body");
    const header = element("div", "panel-header", heading);
    const section = element("section", `panel panel-${chart.place}`, header, body);
    section.dataset.chart = chart.name;
    section.setAttribute("aria-label", chart.title);
    const instance = chart.create(body, this.#context);
    header.append(chartMenu(chart, instance, body, () => this.#view, this.#moves.actionsOf(section)));
    this.#moves.makeMovable(section, heading);
    if (instance.resize) section.append(this.#moves.edgeOf(section, body, chart.title));
    // what is below the others is out of sight before they are drawn: its tiles would slow theirs
    const inSight = chart.place !== "below";
    const panel = {
      chart,
      panel: section,
      instant,
      instance,
      inSight,
      drawn: false,
      waits: false,
      failed: false,
    };
    this.#panels.set(chart.name, panel);
    this.#observer.observe(section);
    return panel;
  }

  /** @param {IntersectionObserverEntry[]} entries */
  #observe(entries) {
    for (const entry of entries) {
      const name = /** @type {HTMLElement} */ (entry.target).dataset.chart ?? "";
      const panel = this.#panels.get(name);
      if (!panel) continue;
      panel.inSight = entry.isIntersecting;
      if (!panel.inSight) panel.instance.hide?.();
    }
    this.onChange();
  }
}

/**
 * Says of which instant the state is that a panel shows, and marks it while a newer one is on its way.
 * @param {Panel} panel
 * @param {View} view
 */
function showInstant({ panel, instant }, { state, isStateCurrent }) {
  const time = state ? `at ${formatTime(state.at, 1)}` : "";
  const text = isStateCurrent ? time : [time, "updating …"].filter(Boolean).join(" · ");
  setText(instant, text);
  panel.classList.toggle("is-stale", !isStateCurrent);
}

/**
 * @param {HTMLElement} element
 * @param {string} text
 */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}
