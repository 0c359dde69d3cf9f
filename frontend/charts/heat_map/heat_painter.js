// Draws the rows of a heat map out of images that have a pixel for each cell.

/** @typedef {ReturnType<typeof import("./heat_layout.js").heatLayout>} Layout */

/**
 * @typedef {object} Area where the cells are drawn, in px
 * @property {number} left
 * @property {number} width
 * @property {number} top
 * @property {number} from where the first column begins
 * @property {number} columnsWidth of all columns
 */

export const LINE = 4; // px of a row that stands out

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Area} area outside of which nothing is drawn
 * @param {number} height px of the rows
 * @param {() => void} draw
 */
export function drawInside(context, { left, width, top }, height, draw) {
  context.save();
  context.beginPath();
  context.rect(left, 0, width, top + height);
  context.clip();
  context.imageSmoothingEnabled = false;
  draw();
  context.restore();
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {Layout} layout
 * @param {HTMLCanvasElement} image a line for each of the layout's
 * @param {Area} area
 */
export function drawRows(context, layout, image, { top: offset, from, columnsWidth }) {
  for (const { first, count, top, height } of layout.sections)
    context.drawImage(image, 0, first, image.width, count, from, offset + top, columnsWidth, height);
}

/**
 * Draws rows that stand out, which would be too low to be seen.
 * @param {CanvasRenderingContext2D} context
 * @param {HTMLCanvasElement} image a line for each
 * @param {number[]} tops px of where each is drawn, below the area's top
 * @param {Area} area
 */
export function drawLines(context, image, tops, { top: offset, from, columnsWidth }) {
  tops.forEach((top, line) =>
    context.drawImage(image, 0, line, image.width, 1, from, offset + top, columnsWidth, LINE),
  );
}
