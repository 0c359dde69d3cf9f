// A chart beside the timeline that Plotly draws: a list in its place until Plotly has arrived.

import { config, layoutOf, loadPlotly } from "./plotly.js";

/** @typedef {import("./plotly.js").Plotly} Plotly */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").State} State */

/**
 * `rows` are what is shown until Plotly is there, and to those who can't see the chart. With a `labelHeight` in px they
 * are its labels, too: each stands over its part of the plot, which is as high.
 * @typedef {{traces: object[], layout: object, height: number, rows: [string, string][], note?: string,
 *   labelHeight?: number}} Figure
 */

/** Calls once the page was drawn: what is large shall not compete with it. @param {() => void} callback */
function whenDrawn(callback) {
  if (document.documentElement.dataset.ready) callback();
  else document.addEventListener("drawn", callback, { once: true });
}

export class PlotlyChart {
  #element;
  #figure;
  #empty;
  /** @type {Plotly|null} */
  #plotly = null;
  #plot = document.createElement("div");
  #list = document.createElement("dl");
  #note = document.createElement("p");
  /** @type {State|null} */
  #state = null;
  /** @type {string} what is drawn */
  #drawn = "";

  /**
   * @param {HTMLElement} element
   * @param {(state: State) => Figure} figure
   * @param {string} empty what to say when there is nothing to draw
   */
  constructor(element, figure, empty) {
    this.#element = element;
    this.#figure = figure;
    this.#empty = empty;
    this.#plot.setAttribute("aria-hidden", "true");
    this.#list.className = "figure-rows";
    this.#note.className = "chart-empty";
    const stage = document.createElement("div");
    stage.className = "figure";
    stage.append(this.#plot, this.#list);
    element.append(stage, this.#note);
    window.addEventListener("themechange", this.#redraw);
    whenDrawn(() => void this.#load());
  }

  destroy() {
    window.removeEventListener("themechange", this.#redraw);
    this.#plotly?.purge(this.#plot);
    this.#element.replaceChildren();
  }

  /** @param {View} view */
  draw(view) {
    if (view.state === this.#state) return;
    this.#state = view.state;
    this.#paint();
  }

  #redraw = () => {
    this.#drawn = "";
    this.#paint();
  };

  async #load() {
    try {
      this.#plotly = await loadPlotly();
      this.#redraw();
    } catch (error) {
      console.warn(error); // the list stays
    }
  }

  #paint() {
    if (!this.#state) return;
    const { traces, layout, height, rows, note, labelHeight } = this.#figure(this.#state);
    const content = JSON.stringify([rows, this.#element.clientWidth]);
    if (content === this.#drawn) return;
    this.#drawn = content;
    this.#list.replaceChildren(...rows.flatMap(([name, value]) => [text("dt", name), text("dd", value)]));
    this.#note.textContent = rows.length ? (note ?? "") : this.#empty;
    this.#plot.hidden = rows.length === 0;
    if (!this.#plotly || !rows.length) return;
    this.#list.classList.add(labelHeight ? "figure-labels" : "visually-hidden");
    if (labelHeight) this.#list.style.gridAutoRows = `${labelHeight}px`;
    void this.#plotly.react(this.#plot, traces, layoutOf(this.#element.clientWidth, height, layout), config);
  }
}

/**
 * @param {"dt"|"dd"} tag
 * @param {string} content
 */
function text(tag, content) {
  const made = document.createElement(tag);
  made.textContent = content;
  return made;
}
