// The selection (a worker, a prefix or a task's key), hidden prefixes, and the time under the mouse, shared by all charts.

export class Selection extends EventTarget {
  /** @type {number|null} id */
  worker = null;
  /** @type {number|null} id */
  prefix = null;
  /** @type {string|null} */
  key = null;
  /** @type {Set<number>} ids of the prefixes that are not drawn */
  hidden = new Set();
  /** @type {number|null} the time under the mouse; fires "hover", not "change" */
  hover = null;

  /**
   * Sets what is given and leaves the rest as it is.
   * @param {{worker?: number|null, prefix?: number|null, key?: string|null}} part
   */
  set(part) {
    const { worker = this.worker, prefix = this.prefix, key = this.key } = part;
    if (worker === this.worker && prefix === this.prefix && key === this.key) return;
    Object.assign(this, { worker, prefix, key });
    this.dispatchEvent(new Event("change"));
  }

  /** Clears the selection and shows what is hidden. */
  clear() {
    this.hide([]);
    this.set({ worker: null, prefix: null, key: null });
  }

  /** @param {Iterable<number>} prefixes ids; others are shown */
  hide(prefixes) {
    const hidden = new Set(prefixes);
    if (hidden.size === this.hidden.size && [...hidden].every((id) => this.hidden.has(id))) return;
    this.hidden = hidden;
    if (this.prefix !== null && hidden.has(this.prefix)) this.prefix = this.key = null;
    this.dispatchEvent(new Event("change"));
  }

  /** @param {number} prefix id */
  toggleHidden(prefix) {
    const { hidden } = this;
    this.hide(hidden.has(prefix) ? [...hidden].filter((id) => id !== prefix) : [...hidden, prefix]);
  }

  /**
   * Highlights a prefix; then hides it; then shows it again.
   * @param {number} prefix id
   */
  cycle(prefix) {
    if (this.hidden.has(prefix) || (this.prefix === prefix && this.key === null)) this.toggleHidden(prefix);
    else this.set({ worker: null, prefix, key: null });
  }

  get empty() {
    return this.worker === null && this.prefix === null && this.key === null;
  }

  /** @param {number|null} time */
  setHover(time) {
    if (time === this.hover) return;
    this.hover = time;
    this.dispatchEvent(new Event("hover"));
  }
}
