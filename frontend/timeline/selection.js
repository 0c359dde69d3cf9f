// The selection (a worker, a prefix or a task's key) and the time under the mouse, shared by all charts.

export class Selection extends EventTarget {
  /** @type {number|null} id */
  worker = null;
  /** @type {number|null} id */
  prefix = null;
  /** @type {string|null} */
  key = null;
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

  clear() {
    this.set({ worker: null, prefix: null, key: null });
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
