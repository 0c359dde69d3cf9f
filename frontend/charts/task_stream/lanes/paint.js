// Paints lanes: how busy each was in each pixel column, and what is long enough to be seen as itself.
//
// A column is filled from the lane's bottom to the share of its time that the lane was busy, so that a lane that was
// busy for 1.4% of the time looks 1.4% full, however many tasks there were.

import {
  ERRED_SLOT,
  FIRST_PREFIX_SLOT,
  OVERLAY_ALPHA,
  SLOT_COLORS,
  SLOT_MARKS,
  isOverlay,
} from "../actions.js";
import { Coverage } from "../../drawing/coverage.js";
import { addBusy, indexLanes, visitBusy, visitSpans } from "./index.js";
import { coloredPrefixes } from "./worker_sums.js";
import { Pixels } from "../../drawing/pixels.js";
import { Shown } from "../../drawing/shown.js";
import { rgb } from "../../drawing/theme.js";
import { contentOf } from "../../../timeline/tiles/tile_store.js";

/** @typedef {import("../../../types.js").Tile} Tile */
/** @typedef {import("../../../types.js").Block} Block */
/** @typedef {import("../../../timeline/model.js").Model} Model */
/**
 * What decides how spans look.
 * @typedef {Pick<import("../../../types.js").Context, "model"|"selection"|"stragglers"|"attempts"> &
 *   {stolen: Pick<import("../../../timeline/tasks/stolen.js").Stolen, "of">,
 *    lineage: Pick<import("../../../timeline/tasks/lineage.js").Lineage, "relations">}} Marked
 */

/**
 * A row's place in the image, in its pixels; one of several lanes is full when `threads` of them are busy.
 * @typedef {{lanes: number[], threads: number, slot: string|null, top: number, height: number}} LaneRow
 * The window and the sizes of its image, in pixels; bars from `labelWidth` on get a label.
 * @typedef {{start: number, stop: number, width: number, height: number, labelWidth: number}} Window
 * A span that is drawn as itself, in the image's pixels; a mark covers `inset` of them at its left edge.
 * @typedef {{block: Block, row: number, slot: number, left: number, width: number, top: number, height: number,
 *   inset?: number}} Bar
 */

const BAR_WIDTH = 2; // px: what is at least this wide is drawn as itself
const EDGE_WIDTH = 5; // px: from this width on, bars have an edge
const FAINTEST = 0.35; // px: what was busy at all stays visible
const DIMMED = 0.15;
const DASHES = { thick: 3, across: 1, down: 0, period: 5 }; // px
const AGAIN_STRIPES = 3; // at the left edge of what was computed again
const [CORNER, CORNER_EDGE] = [11, 3]; // px of what was stolen
const FAINT = 0.2; // what is dimmed has no marks
const SIBLING = 0.5; // of the chosen task: others of its prefix
const EDGE_ALPHA = 0.35;

export class LanePainter {
  pixels = new Pixels();
  /** @type {Bar[]} the widest bars, for their labels */
  labelled = [];
  #coverage = new Coverage();
  #painted = new Shown();
  /** @type {LaneRow[]} that aren't painted yet */
  #rest = [];
  #model;
  #selection;
  #stragglers;
  #attempts;
  #stolen;
  #lineage;
  /** @type {[number, number, number][]} by slot */
  #colors = [];
  /** @type {number[]} by slot */
  #alphas = [];

  /** @param {Marked} context */
  constructor({ model, selection, stragglers, attempts, stolen, lineage }) {
    this.#model = model;
    this.#selection = selection;
    this.#stragglers = stragglers;
    this.#attempts = attempts;
    this.#stolen = stolen;
    this.#lineage = lineage;
  }

  /** Whether all rows are painted. */
  get isWhole() {
    return this.#rest.length === 0;
  }

  /** Has the next `paint` paint all rows: marks or colours may be others. */
  forget() {
    this.#painted.forget();
    this.#rest = [];
  }

  /**
   * Paints the rows into `pixels`; what is there already stays.
   * @param {LaneRow[]} rows those in sight
   * @param {Tile[]} tiles
   * @param {Window} window
   * @param {[number, number, number]} background
   * @param {number} [longest] ms after which the other rows are left to the next call
   */
  paint(rows, tiles, window, background, longest = Infinity) {
    const inSight = tiles.filter(({ start, stop }) => start < window.stop && window.start < stop);
    if (this.#painted.changes(JSON.stringify([rows, window, background]), contentOf(inSight))) {
      this.#prepareColors();
      this.pixels.clear(window.width, window.height, background);
      this.labelled = [];
      this.#rest = rows.filter((row) => row.lanes.length);
    }
    const began = performance.now();
    const isLate = () => performance.now() - began >= longest;
    for (const tile of inSight) if (indexLanes(tile, this.#model) && isLate()) return;
    let painted = 0;
    while (painted < this.#rest.length && (painted === 0 || !isLate())) {
      this.#paintRow(this.#rest[painted], inSight, window);
      painted += 1;
    }
    this.#rest = this.#rest.slice(painted);
  }

  /**
   * @param {LaneRow} row
   * @param {Tile[]} tiles
   * @param {Window} window
   */
  #paintRow(row, tiles, window) {
    const { start, stop, width } = window;
    const scale = width / (stop - start);
    const coverage = this.#coverage;
    /** @type {Bar[]} */
    const bars = [];
    coverage.reset(start, stop, width);
    const isSingle = row.threads === 1;
    const { hidden } = this.#selection;
    const isHidden = (/** @type {Block} */ block, /** @type {number} */ index) =>
      hidden.size > 0 && hidden.has(coloredPrefixes(block)[index]);
    for (const tile of tiles) {
      if (tile.stop <= start || tile.start >= stop) continue;
      for (const lane of row.lanes) {
        visitSpans(tile, this.#model, lane, start, stop, (block, index, slot, from, to) => {
          if (isHidden(block, index)) return;
          const whole = (block.numbers("stop")[index] - block.numbers("start")[index]) * scale;
          const isBar = (isSingle && whole >= BAR_WIDTH) || this.#isRelated(block, index);
          if (!isBar) return coverage.add(slot, from, to, to - from);
          const left = Math.round((from - start) * scale);
          const right = Math.max(Math.round((to - start) * scale), left + 1);
          const begun = from === tile.start ? partBefore(bars, block, index, left) : undefined;
          if (begun) begun.width = right - begun.left;
          else
            bars.push({
              block,
              row: index,
              slot,
              left,
              width: right - left,
              top: row.top,
              height: row.height,
            });
        });
        if (!hidden.size) {
          addBusy(coverage, tile, this.#model, lane, start, stop);
          continue;
        }
        visitBusy(tile, this.#model, lane, start, stop, (block, index, slot, from, to, seconds) => {
          if (!isHidden(block, index)) coverage.add(slot, from, to, seconds);
        });
      }
    }
    const chosen = this.#model.slotOf(this.#selection.worker);
    const strength = chosen === null || chosen.key === row.slot ? 1 : DIMMED;
    this.#paintColumns(row, strength);
    this.#paintBars(bars, strength, window.labelWidth);
  }

  /**
   * Stacks what fills the columns: computing from the bottom, the rest above it, over it where there is no room.
   * @param {LaneRow} row
   * @param {number} strength
   */
  #paintColumns(row, strength) {
    const coverage = this.#coverage;
    if (!coverage.slots.length) return;
    coverage.sortSlots();
    const overlays = coverage.slots.filter(isOverlay);
    const scale = {
      bottom: row.top + row.height,
      room: row.height,
      share: row.height / (coverage.step * row.threads),
      least: FAINTEST,
      leastAbove: FAINTEST,
    };
    const heights = new Float64Array(coverage.columns);
    const paint = (/** @type {number} */ slot, /** @type {Float64Array} */ bases) =>
      this.pixels.stack(coverage, slot, bases, scale, this.#colors[slot], this.#alphas[slot] * strength);
    for (const slot of coverage.slots) if (!isOverlay(slot)) paint(slot, heights);
    if (!overlays.length) return;
    const over = new Float64Array(coverage.columns);
    for (const slot of overlays) {
      const [columns, places] = [coverage.columnsOf(slot), coverage.placesOf(slot)];
      for (let index = 0; index < columns.length; index++)
        over[columns[index]] += coverage.sums[places[index]] * scale.share;
    }
    const bases = heights.map((height, column) => Math.max(0, Math.min(height, row.height - over[column])));
    for (const slot of overlays) paint(slot, bases);
  }

  /**
   * @param {Bar[]} bars of one lane
   * @param {number} strength
   * @param {number} labelWidth bars from this width on get a label
   */
  #paintBars(bars, strength, labelWidth) {
    for (const overlay of [false, true]) {
      for (const bar of bars) {
        if (isOverlay(bar.slot) !== overlay) continue;
        const related = this.#isRelated(bar.block, bar.row);
        const sibling = this.#selection.key !== null && !related;
        const alpha = related ? 1 : this.#alphas[bar.slot] * strength * (sibling ? SIBLING : 1);
        this.pixels.fill(bar.left, bar.top, bar.width, bar.height, this.#colors[bar.slot], alpha);
        const isMarked = bar.slot === ERRED_SLOT || (overlay && bar.width >= EDGE_WIDTH);
        if (isMarked && alpha > FAINT) this.#mark(bar);
        if (bar.width >= EDGE_WIDTH) {
          this.pixels.fill(bar.left, bar.top, 1, bar.height, [0, 0, 0], EDGE_ALPHA * alpha);
        }
        if (!overlay && alpha > FAINT && this.#isStraggler(bar)) this.#markEdges(bar);
        if (!overlay && alpha > FAINT && bar.width >= EDGE_WIDTH && this.#isRetry(bar)) this.#markRetry(bar);
        if (!overlay && alpha > FAINT && bar.width >= EDGE_WIDTH && this.#isStolen(bar))
          this.#markStolen(bar);
        if (bar.width >= labelWidth && !overlay && alpha > DIMMED) this.labelled.push(bar);
      }
    }
  }

  /** @param {Bar} bar of an action or a status that has a mark */
  #mark({ slot, left, top, width, height }) {
    const { stripes, color } = SLOT_MARKS[slot];
    this.pixels.stripe(left, top, width, height, color, stripes);
  }

  /** @param {Bar} bar that computed */
  #isStraggler({ block, row }) {
    const seconds = block.numbers("stop")[row] - block.numbers("start")[row];
    return this.#stragglers.usualOf(block.numbers("prefix")[row], seconds) > 0;
  }

  /** @param {Bar} bar that computed */
  #isRetry({ block, row }) {
    return (this.#attempts.of(block.texts("key").at(row), block.numbers("start")[row])?.number ?? 1) > 1;
  }

  /** @param {Bar} bar that computed */
  #isStolen({ block, row }) {
    const worker = this.#model.workerOf(block.numbers("lane")[row])?.id;
    return this.#stolen.of(block.texts("key").at(row), worker, block.numbers("start")[row]) !== null;
  }

  /** @param {Bar} bar of a stolen task: its upper right corner becomes black with a white edge */
  #markStolen({ left, top, width, height }) {
    const size = Math.min(CORNER, width, height);
    const right = left + width;
    for (let line = 0; line < size; line++) {
      this.pixels.fill(right - size + line, top + line, size - line, 1, [255, 255, 255], 1);
      const inner = size - line - CORNER_EDGE;
      if (inner > 0) this.pixels.fill(right - inner, top + line, inner, 1, [0, 0, 0], 1);
    }
  }

  /** @param {Bar} bar of a later attempt: its left edge becomes stripes from top to bottom */
  #markRetry(bar) {
    const { left, top, width, height } = bar;
    bar.inset = 4 * AGAIN_STRIPES;
    for (let stripe = 0; stripe < 2 * AGAIN_STRIPES && 2 * stripe + 2 <= width; stripe++) {
      this.pixels.fill(left + 2 * stripe, top, 2, height, stripe % 2 ? [255, 255, 255] : [0, 0, 0], 1);
    }
  }

  /** @param {Bar} bar of a straggler: its upper and lower edges become dashed */
  #markEdges({ left, top, width, height }) {
    for (const edge of [top, top + height - DASHES.thick]) {
      this.pixels.fill(left, edge, width, DASHES.thick, [0, 0, 0], 1);
      this.pixels.stripe(left, edge, width, DASHES.thick, [255, 255, 255], DASHES);
    }
  }

  /**
   * Whether it is of the chosen task, of what that was made of, or of what was made of it.
   * @param {Block} block
   * @param {number} row
   */
  #isRelated(block, row) {
    const { key } = this.#selection;
    if (key === null) return false;
    const its = block.texts("key").at(row);
    return its === key || this.#lineage.relations.has(its);
  }

  #prepareColors() {
    const chosen = this.#lineage.relations.size ? NaN : this.#selection.prefix; // of a lineage nothing else stays bright
    this.#colors = SLOT_COLORS.map(rgb);
    this.#alphas = SLOT_COLORS.map((_, slot) => (isOverlay(slot) ? OVERLAY_ALPHA : 1));
    if (chosen !== null) this.#alphas = this.#alphas.map((alpha) => alpha * DIMMED);
    for (const [id, index] of this.#model.prefixOrder) {
      this.#colors[FIRST_PREFIX_SLOT + index] = rgb(this.#model.color(id));
      this.#alphas[FIRST_PREFIX_SLOT + index] = chosen === null || chosen === id ? 1 : DIMMED;
    }
  }
}

const OF_ONE_SPAN = /** @type {const} */ (["lane", "start", "stop"]);

/**
 * The part of the same span that the tile before drew, up to `left`: together they are one bar.
 * @param {Bar[]} bars
 * @param {Block} block
 * @param {number} row
 * @param {number} left
 */
function partBefore(bars, block, row, left) {
  const isSame = (/** @type {Bar} */ bar) =>
    OF_ONE_SPAN.every((name) => bar.block.numbers(name)[bar.row] === block.numbers(name)[row]);
  return bars.findLast((bar) => bar.left + bar.width === left && isSame(bar));
}
