// What a chart was made of last, so that it is made anew only when any of that is another.

export class Shown {
  /** @type {unknown[]|null} */
  #values = null;

  /**
   * Whether any value is another than at the call before; they are kept.
   * @param {...unknown} values as many at each call
   */
  changes(...values) {
    const before = this.#values;
    this.#values = values;
    return before === null || values.some((value, place) => value !== before[place]);
  }

  /** The next call tells of a change. */
  forget() {
    this.#values = null;
  }
}
