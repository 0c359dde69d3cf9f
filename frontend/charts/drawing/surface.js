// A canvas as large as its element, sharp on any screen.

const MAXIMUM_RATIO = 2; // more pixels cost time and aren't visible

export class Surface {
  /** width and height in CSS px */
  width = 0;
  height = 0;
  ratio = 1;

  /**
   * @param {HTMLElement} parent
   * @param {string} label for screen readers
   */
  constructor(parent, label) {
    this.canvas = document.createElement("canvas");
    this.canvas.setAttribute("role", "img");
    this.canvas.setAttribute("aria-label", label);
    parent.append(this.canvas);
    this.context = /** @type {CanvasRenderingContext2D} */ (this.canvas.getContext("2d"));
  }

  /**
   * Sets the size in CSS px and clears the drawing; its unit is CSS px.
   * @param {number} width
   * @param {number} height
   */
  clear(width, height) {
    this.ratio = Math.min(window.devicePixelRatio || 1, MAXIMUM_RATIO);
    const [pixels, lines] = [Math.round(width * this.ratio), Math.round(height * this.ratio)];
    if (this.canvas.width !== pixels || this.canvas.height !== lines) {
      this.canvas.width = pixels;
      this.canvas.height = lines;
      this.canvas.style.width = `${width}px`;
      this.canvas.style.height = `${height}px`;
    }
    this.width = width;
    this.height = height;
    this.context.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
  }
}

/** @type {Map<string, CanvasPattern>} */
const patterns = new Map();

/**
 * Diagonal lines of a colour, to fill with.
 * @param {CanvasRenderingContext2D} context
 * @param {string} color
 * @returns {CanvasPattern|string}
 */
export function hatching(context, color) {
  return pattern(context, `lines ${color}`, color, 8, (drawing) => {
    drawing.lineWidth = 1;
    for (const shift of [-8, 0, 8]) {
      drawing.moveTo(shift - 1, 9);
      drawing.lineTo(shift + 9, -1);
    }
    drawing.stroke();
  });
}

/**
 * Dots of a colour, to fill with.
 * @param {CanvasRenderingContext2D} context
 * @param {string} color
 * @returns {CanvasPattern|string}
 */
export function dots(context, color) {
  return pattern(context, `dots ${color}`, color, 6, (drawing) => drawing.fillRect(2, 2, 1, 1));
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} name
 * @param {string} color
 * @param {number} size px of its repeated square
 * @param {(drawing: CanvasRenderingContext2D) => void} draw draws the square
 * @returns {CanvasPattern|string}
 */
function pattern(context, name, color, size, draw) {
  const known = patterns.get(name);
  if (known) return known;
  const square = document.createElement("canvas");
  square.width = square.height = size;
  const drawing = /** @type {CanvasRenderingContext2D} */ (square.getContext("2d"));
  drawing.strokeStyle = drawing.fillStyle = color;
  draw(drawing);
  const made = context.createPattern(square, "repeat");
  if (!made) return color;
  patterns.set(name, made);
  return made;
}

/**
 * @param {CanvasRenderingContext2D} context
 * @param {string} text
 * @param {number} width px
 * @param {boolean} middle whether to shorten its middle: beginning and end tell apart the names of workers
 * @returns {string} shortened to fit, or ""
 */
export function fitText(context, text, width, middle = false) {
  if (context.measureText(text).width <= width) return text;
  const character = context.measureText("n").width;
  for (let fitting = Math.floor(width / character) - 1; fitting >= 2; fitting--) {
    const end = middle ? Math.ceil(fitting / 2) : 0;
    const cut = `${text.slice(0, fitting - end)}…${end ? text.slice(-end) : ""}`;
    if (context.measureText(cut).width <= width) return cut;
  }
  return "";
}
