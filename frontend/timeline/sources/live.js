// The live socket: blocks of what was just committed, and the current state. It reconnects by itself, and its listeners
// catch up when frames were missed.

import { decode } from "../tiles/blocks.js";

/** @typedef {import("../../types.js").Block} Block */

const FIRST_WAIT = 0.5; // seconds
const LONGEST_WAIT = 15;

/**
 * Fires "begin" (detail: the extent that batches begin after; again after every reconnection), "frame" (detail: the
 * Block[] of one batch), "state" (detail: the State now), "target" (detail: the status of the target), "lost" and
 * "refused" (detail: the reason).
 */
export class Live extends EventTarget {
  connected = false;
  /** @type {WebSocket|null} */
  #socket = null;
  #wait = FIRST_WAIT;
  #timer = 0;
  /** @type {Block[]} blocks of a batch whose extent hasn't arrived */
  #part = [];
  /** @type {(ArrayBuffer|string)[]|null} what arrived before anybody listened; null: somebody does */
  #held = [];
  #url;

  /** @param {string} url ws:// or wss:// */
  constructor(url) {
    super();
    this.#url = url;
  }

  /** Whether `connect` was called. */
  get hasStarted() {
    return this.#socket !== null;
  }

  /** Connects. What arrives is kept until `listen`, so that a page can connect before it is loaded. */
  connect() {
    const socket = new WebSocket(this.#url);
    socket.binaryType = "arraybuffer";
    socket.onopen = () => {
      this.#part = [];
      if (this.#held) this.#held = [];
    };
    socket.onmessage = ({ data }) => (this.#held ? this.#held.push(data) : this.#receive(data));
    socket.onclose = () => this.#reconnect();
    this.#socket = socket;
  }

  /** Fires events for what has arrived, and from now on at once. */
  listen() {
    const held = this.#held ?? [];
    this.#held = null;
    for (const data of held) this.#receive(data);
  }

  close() {
    clearTimeout(this.#timer);
    if (!this.#socket) return;
    this.#socket.onclose = null;
    this.#socket.close();
  }

  /** @param {ArrayBuffer|string} data */
  #receive(data) {
    try {
      if (typeof data === "string") {
        this.dispatchEvent(new CustomEvent("refused", { detail: String(JSON.parse(data).error) }));
      } else {
        for (const block of decode(data)) this.#take(block);
      }
    } catch (error) {
      console.error("can't read a live frame", error);
      this.#socket?.close();
    }
  }

  /** @param {Block} block a batch ends with its extent; it may span several messages, or share one */
  #take(block) {
    if (block.kind === "state" || block.kind === "target") {
      this.dispatchEvent(new CustomEvent(block.kind, { detail: block.meta }));
      return;
    }
    this.#part.push(block);
    if (block.kind !== "extent") return;
    const blocks = this.#part.splice(0);
    if (this.connected) this.dispatchEvent(new CustomEvent("frame", { detail: blocks }));
    else this.#begin(block);
  }

  /** @param {Block} extent the socket's first block */
  #begin(extent) {
    this.connected = true;
    this.#wait = FIRST_WAIT;
    this.dispatchEvent(new CustomEvent("begin", { detail: extent.meta }));
  }

  #reconnect() {
    if (this.connected) this.dispatchEvent(new Event("lost"));
    this.connected = false;
    const jitter = 0.5 + Math.random() / 2;
    this.#timer = window.setTimeout(() => this.connect(), this.#wait * jitter * 1000);
    this.#wait = Math.min(this.#wait * 2, LONGEST_WAIT);
  }
}
