// Paints the frames of a flame graph.

import { fileColor } from "../drawing/palette.js";
import { fitText } from "../drawing/surface.js";
import { theme } from "../drawing/theme.js";
import { differenceColor, differenceMark } from "./difference_colors.js";
import { nameOf, samples } from "./text.js";

/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/** @typedef {import("./tree.js").Node} Node */
/** @typedef {import("./layout.js").Box} Box */

/**
 * @typedef {object} Look how frames are painted
 * @property {((of: Code) => boolean)|null} matches what is looked for: the others are faded; null: nothing
 * @property {import("./difference.js").Difference|null} difference to the profile that it is compared with
 * @property {import("./tree.js").Wanted["source"]} source
 * @property {Node|null} hovered under the mouse
 * @property {Node|null} current that the keys are at
 */

export const ROW = 18; // px
const FONT = "11px system-ui, sans-serif";
const TEXT_COLOR = "#1b1f27"; // on the colours of files
const [ROOT_ALPHA, FADED_ALPHA] = [0.3, 0.28];

export class FramesPainter {
  #surface;

  /** @param {import("../drawing/surface.js").Surface} surface */
  constructor(surface) {
    this.#surface = surface;
  }

  /**
   * @param {Box[][]} rows
   * @param {number} width px
   * @param {Look} look
   */
  paint(rows, width, look) {
    this.#surface.clear(width, rows.length * ROW);
    const { context } = this.#surface;
    context.font = FONT;
    context.textBaseline = "middle";
    rows.forEach((boxes, row) => {
      for (const box of boxes) this.#paintBox(box, row * ROW, look);
    });
    if (look.hovered) this.#outline(rows, look.hovered, 1);
    if (look.current) this.#outline(rows, look.current, 2);
  }

  /**
   * @param {Box} box
   * @param {number} top px
   * @param {Look} look
   */
  #paintBox({ node, x, width }, top, { matches, difference: compared, source }) {
    const { context } = this.#surface;
    const colors = theme();
    const isFaded = matches && !(node?.of && matches(node.of));
    context.globalAlpha = isFaded ? FADED_ALPHA : node?.of ? 1 : ROOT_ALPHA;
    const difference = node && compared ? compared.of(node).difference : 0;
    context.fillStyle = !node?.of
      ? colors.muted
      : compared
        ? differenceColor(difference, compared.scale)
        : fileColor(node.of.file);
    context.fillRect(x, top, Math.max(width - (width > 3 ? 1 : 0), 0.5), ROW - 1);
    context.globalAlpha = 1;
    if (!node) return;
    context.fillStyle = node.of && !isFaded ? TEXT_COLOR : colors.text;
    const name = node.of ? differenceMark(difference) + nameOf(node) : samples(node.total, source);
    const text = fitText(context, name, width - 8);
    if (text) context.fillText(text, Math.max(x, 0) + 4, top + ROW / 2);
  }

  /**
   * @param {Box[][]} rows
   * @param {Node} node
   * @param {number} width px of the line
   */
  #outline(rows, node, width) {
    const { context } = this.#surface;
    rows.forEach((boxes, row) => {
      const box = boxes.find((one) => one.node === node);
      if (!box) return;
      context.strokeStyle = theme().text;
      context.lineWidth = width;
      const inner = Math.max(box.width - width, 1);
      context.strokeRect(box.x + width / 2, row * ROW + width / 2, inner, ROW - width);
    });
  }
}
