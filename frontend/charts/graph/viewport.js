// The part of a graph that is on screen: its zoom and its place.

const [SMALLEST, LARGEST] = [0.005, 4];
const MARGIN = 12; // px around a graph that fits

export class Viewport {
  scale = 1;
  /** px of the screen where the graph's origin is */
  left = 0;
  top = 0;
  /** whether it shows the whole graph, and goes on to when the graph or the screen changes */
  isWhole = true;
  width = 1;
  height = 1;

  /** @param {number} width @param {number} height px of the screen */
  resize(width, height) {
    [this.width, this.height] = [width, height];
  }

  /**
   * @param {{width: number, height: number}} graph
   * @param {number} [least] the smallest scale; a graph that doesn't fit then begins at the left and at the top
   */
  fit(graph, least = 0) {
    const across = (this.width - 2 * MARGIN) / Math.max(graph.width, 1);
    const down = (this.height - 2 * MARGIN) / Math.max(graph.height, 1);
    this.scale = Math.min(Math.max(Math.min(across, down), SMALLEST, least), 1);
    this.left = Math.max((this.width - graph.width * this.scale) / 2, MARGIN);
    this.top = Math.max((this.height - graph.height * this.scale) / 2, MARGIN);
    this.isWhole = true;
  }

  /**
   * @param {number} factor greater than 1: closer
   * @param {number} x px of the screen that stay where they are
   * @param {number} y
   */
  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const scale = Math.min(Math.max(this.scale * factor, SMALLEST), LARGEST);
    const change = scale / this.scale;
    this.left = x - (x - this.left) * change;
    this.top = y - (y - this.top) * change;
    this.scale = scale;
    this.isWhole = false;
  }

  /** @param {number} x px @param {number} y */
  pan(x, y) {
    this.left += x;
    this.top += y;
    this.isWhole = false;
  }

  /**
   * Brings a place of the graph into sight, to the middle where it wasn't, close enough to be read.
   * @param {number} x @param {number} y of the graph
   * @param {number} readable scale
   */
  show(x, y, readable) {
    const [atX, atY] = [x * this.scale + this.left, y * this.scale + this.top];
    const isSeen = atX > 60 && atX < this.width - 60 && atY > 20 && atY < this.height - 20;
    if (isSeen && this.scale >= readable) return;
    this.scale = Math.max(this.scale, readable);
    this.left = this.width / 2 - x * this.scale;
    this.top = this.height / 2 - y * this.scale;
    this.isWhole = false;
  }

  /** @param {number} x @param {number} y px of the screen @returns {[number, number]} of the graph */
  place(x, y) {
    return [(x - this.left) / this.scale, (y - this.top) / this.scale];
  }
}
