// An image that lanes are painted into. Its cost depends on the number of pixels, not on the number of marks.

/** @typedef {{across: number, down: number, period: number}} Stripes */

/** Colours are red, green, blue of 0 to 255; alpha is 0 to 1. The image is opaque. */
export class Pixels {
  width = 0;
  height = 0;
  /** @type {ImageData|null} */
  image = null;
  #data = new Uint32Array(0);

  /**
   * @param {number} width
   * @param {number} height
   * @param {[number, number, number]} background
   */
  clear(width, height, background) {
    if (!this.image || this.width !== width || this.height !== height) {
      this.image = new ImageData(width, height);
      this.#data = new Uint32Array(this.image.data.buffer);
      this.width = width;
      this.height = height;
    }
    this.#data.fill(pack(background[0], background[1], background[2]));
  }

  /**
   * Fills whole pixels.
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {[number, number, number]} color
   * @param {number} alpha
   */
  fill(x, y, width, height, color, alpha) {
    const packed = pack(color[0], color[1], color[2]);
    for (let line = y; line < Math.min(y + height, this.height); line++) {
      const from = line * this.width + x;
      if (alpha >= 1) this.#data.fill(packed, from, from + width);
      else for (let place = from; place < from + width; place++) this.#blend(place, color, alpha);
    }
  }

  /**
   * Draws stripes, so that a colour is not the only mark of a meaning.
   * @param {number} x
   * @param {number} y
   * @param {number} width
   * @param {number} height
   * @param {[number, number, number]} color
   * @param {Stripes} stripes a pixel is on a stripe where (x · across + y · down) is 0 or 1 of `period`
   */
  stripe(x, y, width, height, color, { across, down, period }) {
    const packed = pack(color[0], color[1], color[2]);
    const bottom = Math.min(y + height, this.height);
    for (let line = Math.max(y, 0); line < bottom; line++) {
      for (let column = x; column < x + width; column++) {
        const place = (column * across + line * down) % period;
        if (place === 0 || place === 1) this.#data[line * this.width + column] = packed;
      }
    }
  }

  /**
   * Stacks the seconds of a slot on columns, of whose pixels it may fill fractions. One loop without calls, as a
   * browser runs it uncompiled on a page that was just opened.
   * @param {import("./coverage.js").Coverage} coverage
   * @param {number} slot one of its slots
   * @param {Float64Array} heights by column: where it ends so far, in pixels; these are raised
   * @param {{bottom: number, room: number, share: number, least: number, leastAbove: number}} scale `bottom`: the first
   *   line below the columns; `room`: their pixels; `share`: pixels a second; `least`: pixels of the shortest time on
   *   an empty column; `leastAbove`: on another
   * @param {[number, number, number]} color
   * @param {number} alpha
   */
  stack(coverage, slot, heights, { bottom, room, share, least, leastAbove }, color, alpha) {
    const { width, height } = this;
    const { sums } = coverage;
    const data = this.#data;
    const [columns, places] = [coverage.columnsOf(slot), coverage.placesOf(slot)];
    const [red, green, blue] = color;
    const packed = pack(red, green, blue);
    for (let index = 0; index < columns.length; index++) {
      const column = columns[index];
      const from = heights[column];
      if (from >= room) continue;
      const wanted = sums[places[index]] * share;
      const shortest = from > 0 ? leastAbove : least;
      let to = from + (wanted > shortest ? wanted : shortest);
      if (to > room) to = room;
      heights[column] = to;
      for (let step = from | 0; step < to; step++) {
        const line = bottom - 1 - step;
        if (line < 0 || line >= height) continue;
        const part = ((to < step + 1 ? to : step + 1) - (from > step ? from : step)) * alpha;
        const place = line * width + column;
        if (part >= 0.999) {
          data[place] = packed;
          continue;
        }
        const old = data[place];
        const rest = 1 - part;
        data[place] =
          0xff000000 |
          ((((old >> 16) & 255) * rest + blue * part) << 16) |
          ((((old >> 8) & 255) * rest + green * part) << 8) |
          ((old & 255) * rest + red * part);
      }
    }
  }

  /**
   * @param {number} place
   * @param {[number, number, number]} color
   * @param {number} alpha
   */
  #blend(place, color, alpha) {
    const old = this.#data[place];
    const rest = 1 - alpha;
    const red = (old & 255) * rest + color[0] * alpha;
    const green = ((old >> 8) & 255) * rest + color[1] * alpha;
    const blue = ((old >> 16) & 255) * rest + color[2] * alpha;
    this.#data[place] = pack(red, green, blue);
  }
}

/**
 * @param {number} red
 * @param {number} green
 * @param {number} blue
 */
function pack(red, green, blue) {
  return (0xff000000 | (blue << 16) | (green << 8) | red) >>> 0;
}
