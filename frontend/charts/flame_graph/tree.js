// Builds the call tree of a flame graph from the tiles of a profile.

/** @typedef {import("../../types.js").Tile} Tile */
/** @typedef {import("../../timeline/slots.js").Slot} Slot */
/** @typedef {import("../../timeline/tiles/stacks.js").Stacks} Stacks */
/** @typedef {import("../../timeline/tiles/stacks.js").Code} Code */
/**
 * Samples that were seen in a function called from where its parent is; `own` are those that ended in it. The root,
 * whose function is null, has all samples.
 * @typedef {{of: Code|null, parent: Node|null, depth: number, own: number, total: number,
 *   lines: Map<number, number>, children: Map<number, Node>}} Node
 * Which samples are wanted; null: of all.
 * @typedef {{source: "tasks"|"native"|"workers"|"scheduler"|"files", slot: Slot|null, prefix: number|null}} Wanted
 * @typedef {{of: Code, own: number, total: number}} Usage
 */

const [TASK, EVENT_LOOP, NATIVE] = [0, 1, 2];
const SCHEDULER = -1;

/**
 * How often each stack was seen in a window. A row's time is the end of what it sums up.
 * @param {Tile[]} tiles that don't overlap
 * @param {{start: number, stop: number}} window
 * @param {Wanted} wanted
 * @returns {Map<number, number>} samples by stack
 */
export function sumStacks(tiles, window, wanted) {
  /** @type {Map<number, number>} */
  const sums = new Map();
  for (const tile of tiles) {
    for (const block of tile.blocks.get("profile") ?? []) {
      const [time, worker, prefix] = [
        block.numbers("time"),
        block.numbers("worker"),
        block.numbers("prefix"),
      ];
      const [source, stack, count] = [
        block.numbers("source"),
        block.numbers("stack"),
        block.numbers("count"),
      ];
      for (let row = 0; row < block.rows; row++) {
        if (time[row] < tile.start || time[row] >= tile.stop) continue;
        if (time[row] <= window.start || time[row] > window.stop) continue;
        if (!isWanted(wanted, source[row], worker[row], prefix[row])) continue;
        sums.set(stack[row], (sums.get(stack[row]) ?? 0) + count[row]);
      }
    }
  }
  return sums;
}

/**
 * How long each stack of attached files was seen.
 * @param {import("../../types.js").Schemas["AttachedProfiles"]} attached
 * @param {Wanted} wanted
 * @returns {Map<number, number>} microseconds by the stack's place
 */
export function sumAttachedStacks({ files, stacks }, { slot }) {
  /** @type {Map<number, number>} */
  const sums = new Map();
  stacks.forEach(({ microseconds }, place) => {
    for (const [file, thread, spent] of microseconds) {
      const { worker } = files[file].threads[thread];
      if (slot === null || slot.lifetimes.some(({ id }) => id === worker))
        sums.set(place, (sums.get(place) ?? 0) + spent);
    }
  });
  return sums;
}

/**
 * An event loop has no prefix, and the scheduler's is no worker's: there these don't count.
 * @param {Wanted} wanted
 * @param {number} source
 * @param {number} worker
 * @param {number} prefix
 */
function isWanted(wanted, source, worker, prefix) {
  if (wanted.source === "scheduler") return source === EVENT_LOOP && worker === SCHEDULER;
  if (wanted.slot !== null && !wanted.slot.lifetimes.some(({ id }) => id === worker)) return false;
  if (wanted.source === "workers") return source === EVENT_LOOP && worker !== SCHEDULER;
  return (
    source === (wanted.source === "native" ? NATIVE : TASK) &&
    (wanted.prefix === null || prefix === wanted.prefix)
  );
}

/**
 * @param {Map<number, number>} sums samples by stack
 * @param {Pick<Stacks, "get">} stacks
 * @returns {{root: Node, missing: number[], unnamed: number}} stacks that haven't arrived, the most seen first:
 *   their samples, so many, are the root's own
 */
export function makeTree(sums, stacks) {
  const root = makeNode(null, null);
  const missing = [];
  let unnamed = 0;
  for (const [id, count] of sums) {
    root.total += count;
    const frames = stacks.get(id);
    if (!frames) {
      missing.push(id);
      unnamed += count;
    }
    let node = root;
    for (const { of, line } of frames ?? []) {
      let child = node.children.get(of.id);
      if (!child) node.children.set(of.id, (child = makeNode(of, node)));
      child.total += count;
      child.lines.set(line, (child.lines.get(line) ?? 0) + count);
      node = child;
    }
    node.own += count;
  }
  missing.sort((one, other) => (sums.get(other) ?? 0) - (sums.get(one) ?? 0));
  return { root, missing, unnamed };
}

/**
 * @param {Code|null} of
 * @param {Node|null} parent
 * @returns {Node}
 */
function makeNode(of, parent) {
  const depth = parent ? parent.depth + 1 : 0;
  return { of, parent, depth, own: 0, total: 0, lines: new Map(), children: new Map() };
}

/**
 * The functions below a node and in it: a function that calls itself is counted once in the total.
 * @param {Node} top
 * @returns {Usage[]}
 */
export function usages(top) {
  /** @type {Map<number, Usage>} */
  const found = new Map();
  /** @type {Map<number, number>} */
  const open = new Map();
  /** @type {[Node, boolean][]} nodes to enter, and to leave again */
  const waiting = [[top, false]];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const [node, leaves] = next;
    const id = node.of?.id ?? -1;
    const times = open.get(id) ?? 0;
    if (leaves) {
      open.set(id, times - 1);
      continue;
    }
    if (node.of) {
      const usage = found.get(id) ?? { of: node.of, own: 0, total: 0 };
      usage.own += node.own;
      if (!times) usage.total += node.total;
      found.set(id, usage);
    }
    open.set(id, times + 1);
    waiting.push([node, true]);
    for (const child of node.children.values()) waiting.push([child, false]);
  }
  return [...found.values()];
}

/**
 * Samples with a function that matches anywhere in their stack, below a node or in it.
 * @param {Node} top
 * @param {(of: Code) => boolean} matches
 */
export function samplesWith(top, matches) {
  let sum = 0;
  const waiting = [top];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (node.of && matches(node.of)) sum += node.total;
    else waiting.push(...node.children.values());
  }
  return sum;
}

/**
 * The functions that lead to a node: it can be found again in another tree.
 * @param {Node} node
 * @returns {number[]}
 */
export function pathTo(node) {
  const path = [];
  for (let at = node; at.of && at.parent; at = at.parent) path.unshift(at.of.id);
  return path;
}

/**
 * @param {Node} root
 * @param {number[]} path
 * @returns {Node} as far down as the path leads in this tree
 */
export function follow(root, path) {
  let node = root;
  for (const id of path) {
    const child = node.children.get(id);
    if (!child) break;
    node = child;
  }
  return node;
}

/** @param {Code} of; its name and the end of its file's path, which say in an address what is zoomed into */
export function functionName({ name, file }) {
  return `${name}@${file.split("/").pop()}`;
}

/**
 * @param {Node} root
 * @param {string} name as functionName writes it
 * @returns {Node|null} of the nodes of such functions the one with most samples
 */
export function largestOf(root, name) {
  /** @type {Node|null} */
  let found = null;
  const waiting = [root];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    if (found && node.total <= found.total) continue; // nothing below it has more
    if (node.of && functionName(node.of) === name) found = node;
    else waiting.push(...node.children.values());
  }
  return found;
}

/**
 * The children of a node as they stand beside each other: by name, so that a frame stays where it was.
 * @param {Node} node
 */
export function ordered(node) {
  const name = (/** @type {Node} */ one) => `${one.of?.name} ${one.of?.file}`;
  return [...node.children.values()].sort((one, other) => (name(one) < name(other) ? -1 : 1));
}
