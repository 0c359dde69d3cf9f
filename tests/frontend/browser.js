// The few globals of a browser that modules without a document need. Import it before them.

Object.assign(globalThis, {
  window: globalThis,
  addEventListener: () => {},
  ImageData: class {
    /** @param {number} width @param {number} height */
    constructor(width, height) {
      Object.assign(this, { width, height, data: new Uint8ClampedArray(4 * width * height) });
    }
  },
});
