// Places the nodes of a directed graph in columns, from what is needed on the left to what needs it on the right.
//
// Its cost grows with nodes and edges only, a few sweeps over both. Cycles, which groups of tasks can have, are cut.

const SWEEPS = 8;

/**
 * Edges are pairs of positions: `needed[i]` is left of `task[i]`. `column` and `row` are the distances of nodes in px,
 * `aspect` is width over height that whole graphs are folded and packed to, `shortest` the fewest columns of a folded line.
 * @typedef {{count: number, task: ArrayLike<number>, needed: ArrayLike<number>, column: number, row: number,
 *   aspect: number, shortest: number}} Graph
 * @typedef {{x: Float32Array, y: Float32Array, width: number, height: number}} Layout centres of the nodes
 * @typedef {{nodes: number[], width: number, height: number}} Part
 */

/**
 * @param {Graph} graph
 * @returns {Layout}
 */
export function layeredLayout(graph) {
  const { count } = graph;
  const [before, after] = neighbours(graph);
  const layout = { x: new Float32Array(count), y: new Float32Array(count), width: 0, height: 0 };
  const ranks = ranksOf(before, after);
  const parts = components(before, after).map((nodes) =>
    place(nodes, { ...graph, ranks, before, after }, layout),
  );
  pack(parts, layout, graph);
  return layout;
}

/** @param {Graph} graph @returns {[number[][], number[][]]} what each node needs, and what needs it */
function neighbours({ count, task, needed }) {
  const [before, after] = [0, 1].map(() => Array.from({ length: count }, () => /** @type {number[]} */ ([])));
  for (let edge = 0; edge < task.length; edge++) {
    if (task[edge] === needed[edge]) continue;
    before[task[edge]].push(needed[edge]);
    after[needed[edge]].push(task[edge]);
  }
  return [before, after];
}

/**
 * The length of the longest path to each node. Where only cycles are left, the node that misses least is next.
 * @param {number[][]} before @param {number[][]} after
 */
function ranksOf(before, after) {
  const ranks = new Int32Array(before.length);
  const missing = Int32Array.from(before, (list) => list.length);
  const isDone = new Uint8Array(before.length);
  const ready = before.flatMap((list, node) => (list.length ? [] : [node]));
  let done = 0;
  for (;;) {
    while (ready.length) {
      const node = /** @type {number} */ (ready.pop());
      if (isDone[node]) continue;
      isDone[node] = 1;
      done += 1;
      for (const next of after[node]) {
        if (isDone[next]) continue;
        ranks[next] = Math.max(ranks[next], ranks[node] + 1);
        if (--missing[next] === 0) ready.push(next);
      }
    }
    if (done === before.length) return ranks;
    let least = -1;
    for (let node = 0; node < before.length; node++) {
      if (!isDone[node] && (least < 0 || missing[node] < missing[least])) least = node;
    }
    ready.push(least);
  }
}

/**
 * The nodes that hang together, the largest first.
 * @param {number[][]} before @param {number[][]} after
 * @returns {number[][]}
 */
function components(before, after) {
  const isSeen = new Uint8Array(before.length);
  const found = [];
  for (let first = 0; first < before.length; first++) {
    if (isSeen[first]) continue;
    isSeen[first] = 1;
    const nodes = [first];
    for (let at = 0; at < nodes.length; at++) {
      for (const next of [...before[nodes[at]], ...after[nodes[at]]]) {
        if (isSeen[next]) continue;
        isSeen[next] = 1;
        nodes.push(next);
      }
    }
    found.push(nodes);
  }
  return found.sort((one, other) => other.length - one.length);
}

/**
 * Places a component, from (0, 0) on.
 * @param {number[]} nodes
 * @param {Graph & {ranks: Int32Array, before: number[][], after: number[][]}} graph
 * @param {Layout} layout
 * @returns {Part}
 */
function place(nodes, graph, layout) {
  const { before, after, row } = graph;
  const columns = columnsOf(nodes, graph);
  const { y } = layout;
  for (const list of columns) list.forEach((node, at) => (y[node] = (at - (list.length - 1) / 2) * row));
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    const isForward = sweep % 2 === 0;
    const beside = isForward ? before : after;
    for (const list of isForward ? columns : [...columns].reverse()) arrange(list, beside, y, row);
  }
  return fold(columns, layout, graph);
}

/**
 * The nodes by rank; a rank of more than fits the aspect has several columns.
 * @param {number[]} nodes @param {Graph & {ranks: Int32Array}} graph
 * @returns {number[][]}
 */
function columnsOf(nodes, { ranks, column, row, aspect }) {
  /** @type {number[][]} */
  const byRank = [];
  for (const node of nodes) (byRank[ranks[node]] ??= []).push(node);
  const most = Math.max(12, Math.ceil(Math.sqrt((nodes.length * column) / row / aspect) * 1.5));
  return byRank.flatMap((list) => {
    const parts = Math.ceil(list.length / most);
    const size = Math.ceil(list.length / parts);
    return Array.from({ length: parts }, (_, part) => list.slice(part * size, (part + 1) * size));
  });
}

/**
 * Moves the nodes of a column towards the mean of their neighbours, in that order, at least a row apart.
 * @param {number[]} list @param {number[][]} beside @param {Float32Array} y @param {number} row
 */
function arrange(list, beside, y, row) {
  const wanted = new Map(list.map((node) => [node, mean(beside[node], y) ?? y[node]]));
  const of = (/** @type {number} */ node) => /** @type {number} */ (wanted.get(node));
  list.sort((one, other) => of(one) - of(other) || y[one] - y[other]);
  // blocks of nodes that touch each other lie at the mean of what their nodes want
  /** @type {{first: number, size: number, sum: number}[]} */
  const blocks = [];
  list.forEach((node, at) => {
    let block = { first: at, size: 1, sum: of(node) };
    for (let last = blocks.at(-1); last && top(last) + last.size * row > top(block); last = blocks.at(-1)) {
      blocks.pop();
      const shifted = block.sum - block.size * last.size * row;
      block = { first: last.first, size: last.size + block.size, sum: last.sum + shifted };
    }
    blocks.push(block);
  });
  for (const block of blocks) {
    for (let at = 0; at < block.size; at++) y[list[block.first + at]] = top(block) + at * row;
  }
}

/**
 * Where the first node of a block lies. `sum` is of what its nodes want, less their distances to the first.
 * @param {{size: number, sum: number}} block
 */
function top({ size, sum }) {
  return sum / size;
}

/** @param {number[]} nodes @param {Float32Array} y @returns {number|null} */
function mean(nodes, y) {
  if (!nodes.length) return null;
  let sum = 0;
  for (const node of nodes) sum += y[node];
  return sum / nodes.length;
}

/**
 * Gives columns their x. A graph that is much wider than high is folded as lines of a text are.
 * @param {number[][]} columns @param {Layout} layout @param {Graph} graph
 * @returns {Part}
 */
function fold(columns, { x, y }, { column, row, aspect, shortest }) {
  const extents = columns.map((list) =>
    list.reduce(
      ([low, high], node) => [Math.min(low, y[node]), Math.max(high, y[node])],
      [Infinity, -Infinity],
    ),
  );
  const whole =
    Math.max(...extents.map(([, high]) => high)) - Math.min(...extents.map(([low]) => low)) + 2 * row;
  const most = Math.floor(columns.length / shortest);
  const lines = Math.max(
    1,
    Math.min(Math.floor(Math.sqrt((columns.length * column) / (aspect * whole))), most),
  );
  const size = Math.ceil(columns.length / lines);
  let [width, height] = [0, 0];
  for (let first = 0; first < columns.length; first += size) {
    const line = columns.slice(first, first + size);
    const low = Math.min(...extents.slice(first, first + size).map(([least]) => least));
    const high = Math.max(...extents.slice(first, first + size).map(([, most]) => most));
    line.forEach((list, at) => {
      for (const node of list) {
        x[node] = (at + 0.5) * column;
        y[node] += height - low + row / 2;
      }
    });
    width = Math.max(width, line.length * column);
    height += high - low + (first + size < columns.length ? 3 : 1) * row;
  }
  return { nodes: columns.flat(), width, height };
}

/**
 * Puts the components beside each other, in lines.
 * @param {Part[]} parts the largest first
 * @param {Layout} layout @param {Graph} graph
 */
function pack(parts, layout, { column, row, aspect }) {
  const area = parts.reduce((sum, { width, height }) => sum + (width + column / 2) * (height + row), 0);
  const widest = Math.max(Math.sqrt(area * aspect), ...parts.map(({ width }) => width));
  const sorted = [...parts].sort((one, other) => other.height - one.height);
  let [left, topmost, lowest] = [0, 0, 0];
  for (const { nodes, width, height } of sorted) {
    if (left > 0 && left + width > widest) [left, topmost] = [0, lowest];
    for (const node of nodes) {
      layout.x[node] += left;
      layout.y[node] += topmost;
    }
    layout.width = Math.max(layout.width, left + width);
    left += width + column / 2;
    lowest = Math.max(lowest, topmost + height + row);
  }
  layout.height = Math.max(lowest - row, 0);
}
