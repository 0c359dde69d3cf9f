// Moves and resizes panels: by dragging a title or a lower edge, and by the keyboard at the edge and in the panel's menu.

import { element } from "../../element.js";
import { HIGHEST, LOWEST } from "./arrangement.js";

/** @typedef {import("./arrangement.js").Arrangement} Arrangement */
/** @typedef {import("../../charts/chart_menu/menu.js").Action} Action */

const STEP = 20; // px
const TYPE = "text/x-chart";

/** What is done with the panels of a page. */
export class PanelMoves {
  #arrangement;
  #onChange;
  #dragged = "";

  /**
   * @param {Arrangement} arrangement
   * @param {() => void} onChange called when order, height or number are others
   */
  constructor(arrangement, onChange) {
    this.#arrangement = arrangement;
    this.#onChange = onChange;
  }

  /**
   * The actions of a panel's menu.
   * @param {HTMLElement} panel
   * @returns {Action[]}
   */
  actionsOf(panel) {
    const name = nameOf(panel);
    const move = (/** @type {HTMLElement|null} */ other) => {
      if (other) this.#change(() => this.#arrangement.move(name, nameOf(other)));
      /** @type {HTMLElement|null} */ (panel.querySelector(".chart-menu summary"))?.focus();
    };
    return [
      { text: "Move up", isPossible: () => beside(panel, -1) !== null, act: () => move(beside(panel, -1)) },
      { text: "Move down", isPossible: () => beside(panel, 1) !== null, act: () => move(beside(panel, 1)) },
      {
        text: "Hide",
        isPossible: () => true,
        act: () => this.#change(() => this.#arrangement.hide(name)),
      },
    ];
  }

  /**
   * A panel's title is dragged to another panel of the same column.
   * @param {HTMLElement} panel
   * @param {HTMLElement} title
   */
  makeMovable(panel, title) {
    title.draggable = true;
    title.addEventListener("pointerdown", (event) => event.stopPropagation()); // which would move the window
    title.addEventListener("dragstart", (event) => {
      this.#dragged = nameOf(panel);
      event.dataTransfer?.setData(TYPE, this.#dragged);
      panel.classList.add("is-dragged");
    });
    title.addEventListener("dragend", () => {
      this.#dragged = "";
      panel.classList.remove("is-dragged");
    });
    panel.addEventListener("dragover", (event) => {
      if (!this.#mayTake(panel)) return;
      event.preventDefault();
      panel.classList.add("is-target");
    });
    for (const end of ["dragleave", "drop"])
      panel.addEventListener(end, () => panel.classList.remove("is-target"));
    panel.addEventListener("drop", (event) => {
      if (!this.#mayTake(panel)) return;
      event.preventDefault();
      this.#change(() => this.#arrangement.move(this.#dragged, nameOf(panel)));
    });
  }

  /** @param {HTMLElement} panel */
  #mayTake(panel) {
    const siblings = [...(panel.parentElement?.children ?? [])];
    return siblings.some((other) => other !== panel && nameOf(other) === this.#dragged);
  }

  /**
   * The lower edge of a panel, which changes the height of its chart.
   * @param {HTMLElement} panel
   * @param {HTMLElement} body
   * @param {string} title
   */
  edgeOf(panel, body, title) {
    const edge = element("div", "panel-edge");
    edge.role = "separator";
    edge.tabIndex = 0;
    edge.ariaOrientation = "horizontal";
    edge.ariaLabel = `Height of ${title}`;
    edge.ariaValueMin = String(LOWEST);
    edge.ariaValueMax = String(HIGHEST);
    edge.ariaValueNow = String(LOWEST); // the browser isn't asked before the edge is used: it would lay out the page
    const current = () =>
      this.#arrangement.heightOf(nameOf(panel)) ?? body.querySelector("canvas")?.clientHeight ?? LOWEST;
    edge.addEventListener("focus", () => (edge.ariaValueNow = String(current())));
    const resize = (/** @type {number} */ height) => {
      this.#change(() => this.#arrangement.resize(nameOf(panel), height));
      edge.ariaValueNow = String(current());
    };
    edge.addEventListener("keydown", (event) => {
      const step = { ArrowUp: -STEP, ArrowDown: STEP }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      event.stopPropagation();
      resize(current() + step);
    });
    edge.addEventListener("pointerdown", (event) => {
      event.preventDefault();
      event.stopPropagation();
      edge.setPointerCapture(event.pointerId);
      const [top, height] = [event.clientY + window.scrollY, current()];
      const follow = (/** @type {PointerEvent} */ moved) =>
        resize(height + moved.clientY + window.scrollY - top);
      edge.addEventListener("pointermove", follow);
      edge.addEventListener("lostpointercapture", () => edge.removeEventListener("pointermove", follow), {
        once: true,
      });
    });
    return edge;
  }

  /** @param {() => void} change */
  #change(change) {
    change();
    this.#onChange();
  }
}

/** @param {Element} panel */
function nameOf(panel) {
  return /** @type {HTMLElement} */ (panel).dataset.chart ?? "";
}

/**
 * The next panel in sight in the same column.
 * @param {HTMLElement} panel
 * @param {1|-1} direction
 * @returns {HTMLElement|null}
 */
function beside(panel, direction) {
  let other = panel;
  for (;;) {
    const next = direction === 1 ? other.nextElementSibling : other.previousElementSibling;
    if (!(next instanceof HTMLElement)) return null;
    if (next.dataset.chart && !next.hidden) return next;
    other = next;
  }
}
