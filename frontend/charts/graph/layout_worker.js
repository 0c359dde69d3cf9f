// Lays out graphs beside the page, which stays responsive meanwhile.

import { layeredLayout } from "./layered_layout.js";

const worker = /** @type {any} */ (self);

worker.onmessage = (
  /** @type {MessageEvent<{id: number, graph: import("./layered_layout.js").Graph}>} */ { data },
) => {
  const layout = layeredLayout(data.graph);
  worker.postMessage({ id: data.id, layout }, [layout.x.buffer, layout.y.buffer]);
};
