// Where the cells of the matrix of transfers are, and the shades of their colours.

const [SMALLEST, LARGEST] = [5, 26]; // px of a cell
const NAMED = 11; // px of a cell beside which a name fits
const GAP = 8; // px between names and cells
const SHARE = 0.45; // of the width that names may take

export class MatrixLayout {
  /** px of a cell */
  size;
  /** px of all cells together */
  side;
  isNamed;
  /** px of the cells' left and upper edge */
  left;
  top;
  width;
  height;

  /**
   * @param {number} places
   * @param {number} room px of the width
   * @param {number} longest px of the longest name
   */
  constructor(places, room, longest) {
    const names = Math.min(longest + GAP, room * SHARE);
    this.left = this.top = Math.max(Math.ceil(names), 80);
    this.size = Math.min(
      Math.max(Math.floor((room - this.left - 4) / Math.max(places, 1)), SMALLEST),
      LARGEST,
    );
    this.isNamed = this.size >= NAMED;
    this.side = this.size * places;
    this.width = this.left + this.side + 2;
    this.height = this.top + this.side + 2;
  }

  /**
   * @param {number} row
   * @param {number} column
   * @returns {[number, number]} px of the upper left corner of a cell
   */
  corner(row, column) {
    return [this.left + column * this.size, this.top + row * this.size];
  }

  /**
   * @param {number} x
   * @param {number} y
   * @returns {{row: number, column: number}|null}
   */
  cellAt(x, y) {
    const [row, column] = [Math.floor((y - this.top) / this.size), Math.floor((x - this.left) / this.size)];
    const places = this.side / this.size;
    return row >= 0 && column >= 0 && row < places && column < places ? { row, column } : null;
  }
}

/**
 * @param {number} value
 * @param {number} least
 * @param {number} most
 * @param {number} count of shades
 * @returns {number} the shade of a value between the least and the most, on a logarithmic scale
 */
export function logShade(value, least, most, count) {
  if (!(value > 0)) return 0;
  if (!(most > least)) return count - 1;
  const share = Math.log(value / least) / Math.log(most / least);
  return Math.round(Math.min(Math.max(share, 0), 1) * (count - 1));
}
