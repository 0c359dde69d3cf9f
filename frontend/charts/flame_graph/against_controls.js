// What a flame graph is compared with, and the legend of its colours.

import { element } from "../../element.js";
import { formatDate, formatWindow } from "../../timeline/times.js";
import { ProfileOptions, formatAgainst, parseAgainst } from "./options.js";
import { formatPoints } from "../../formatting.js";
import { SITE } from "../../site.js";
import { loadRunLists } from "../run_memory/run_lists.js";
import { differenceColor } from "./difference_colors.js";

/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("./options.js").Against} Against */
/** @typedef {import("../run_memory/run_lists.js").RunList} RunList */

const NAME = 60; // characters of a run's name
const STEPS = [-1, -0.5, 0, 0.5, 1];

export class AgainstControls {
  bar;
  legend = element("ul", "legend flame-legend");
  #context;
  #select = element("select", "");
  #swap;
  /** @type {Against|null} the window that was pinned last: one can come back to it */
  #pinned = null;
  /** @type {RunList[]|null} */
  #lists = null;
  #shown = "";

  /** @param {Context} context */
  constructor(context) {
    this.#context = context;
    const options = context.features.of(ProfileOptions);
    this.#select.addEventListener("change", () => options.set({ against: parseAgainst(this.#select.value) }));
    const pin = button(
      "Compare with this window",
      "Pins the window that is shown: move on, and see what is different",
      () => this.#pin(),
    );
    this.#swap = button("Swap", "Draws the other profile, and compares it with this one", () =>
      options.set({ isSwapped: !options.isSwapped }),
    );
    this.bar = element(
      "div",
      "lane-controls flame-controls",
      element("label", "", "Compare with ", this.#select),
      pin,
      this.#swap,
    );
    this.legend.setAttribute("aria-label", "Colours");
  }

  /** To be called when the options or the pinned window may be others. */
  show() {
    const { against, isSwapped } = this.#context.features.of(ProfileOptions);
    if (against?.kind === "window") this.#pinned = against;
    this.#swap.hidden = !against;
    this.#swap.setAttribute("aria-pressed", String(isSwapped));
    const content = JSON.stringify([this.#pinned, formatAgainst(against), this.#lists]);
    if (content === this.#shown) return;
    this.#shown = content;
    this.#select.replaceChildren(...this.#options(against));
    this.#select.value = formatAgainst(against);
  }

  /**
   * @param {number|null} scale the share with the strongest colour; null: nothing is compared
   * @param {string} drawn
   * @param {string} other
   */
  explain(scale, drawn, other) {
    this.legend.hidden = scale === null;
    if (scale === null) return;
    const words = [`▼ less in ${drawn}`, "", `as in ${other}`, "", "more ▲"];
    const entries = STEPS.map((step, at) => {
      const swatch = element("i", "");
      swatch.style.backgroundColor = differenceColor(step, 1);
      const points = step
        ? `${step > 0 ? "+" : ""}${formatPoints(step * scale).replace("percentage points", "pp")}`
        : "";
      return element("li", "", swatch, [words[at], points].filter(Boolean).join(" "));
    });
    this.legend.replaceChildren(...entries);
  }

  /** Loads the runs to choose from; those who see one run by a link have none. */
  async loadRuns() {
    const { source, info } = this.#context;
    if (this.#lists || source.pages === null || info.id === null) return;
    this.#lists = [];
    const ask = async (/** @type {string} */ path) => {
      const response = await source.fetch(`${SITE}/api/v1${path}`);
      return response.ok ? response.json() : null;
    };
    const lists = await loadRunLists(ask, info.id, source.run).catch(() => []);
    this.#lists = lists.map(({ title, runs }) => ({
      title: title.replace("This run, and earlier ones", "Earlier runs"),
      runs: runs.filter(({ id }) => id !== source.run),
    }));
    this.show();
  }

  #pin() {
    const { start, stop } = this.#context.timeline;
    this.#context.features.of(ProfileOptions).set({
      against: parseAgainst(formatAgainst({ kind: "window", start, stop })),
    });
  }

  /** @param {Against|null} against */
  #options(against) {
    const options = [new Option("nothing", ""), new Option("the window before", "before")];
    const pinned = this.#pinned;
    if (pinned?.kind === "window")
      options.push(new Option(`the pinned window, ${formatWindow(pinned)}`, formatAgainst(pinned)));
    const groups = (this.#lists ?? [])
      .filter(({ runs }) => runs.length)
      .map(({ title, runs }) => {
        const group = element(
          "optgroup",
          "",
          ...runs.map(
            (run) =>
              new Option(`${run.name.slice(0, NAME)} #${run.id}, ${formatDate(run.start)}`, `run-${run.id}`),
          ),
        );
        group.label = title;
        return group;
      });
    const isListed =
      against?.kind !== "run" || this.#lists?.some(({ runs }) => runs.some(({ id }) => id === against.id));
    const unlisted =
      against?.kind === "run" && !isListed ? [new Option(`run #${against.id}`, formatAgainst(against))] : [];
    return [...options, ...unlisted, ...groups];
  }
}

/**
 * @param {string} text
 * @param {string} title
 * @param {() => void} act
 */
function button(text, title, act) {
  const made = element("button", "", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", act);
  return made;
}
