// The live socket: connected before the page listens, and again after it was lost.

import "../browser.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { Live } from "../../../frontend/timeline/sources/live.js";
import { stopClock, pass } from "../clock.js";
import { encode, extent } from "../make.js";

/** @type {any[]} */
const sockets = [];
/** @type {any} */ (globalThis).WebSocket = class {
  constructor() {
    sockets.push(this);
  }
};

/** @param {any} socket @param {...Uint8Array} messages */
function send(socket, ...messages) {
  for (const message of messages) socket.onmessage({ data: message.slice().buffer });
}

/** A socket, and what it has fired. */
function open() {
  const live = new Live("ws://test");
  /** @type {string[]} */
  const fired = [];
  for (const name of ["begin", "frame", "state", "lost"]) live.addEventListener(name, () => fired.push(name));
  live.connect();
  return { live, fired, socket: sockets.at(-1) };
}

const STATE = encode("state", 0, [], { at: 1 });

test("what arrives while the page loads is passed on once it listens, in order", () => {
  const { live, fired, socket } = open();
  socket.onopen();
  send(socket, extent(1), STATE, extent(2));
  assert.deepEqual(fired, []);
  live.listen();
  assert.deepEqual(fired, ["begin", "state", "frame"]);
  send(socket, extent(3));
  assert.deepEqual(fired, ["begin", "state", "frame", "frame"]);
});

test("of two connections before the page listens, only what the second brought counts", async (t) => {
  stopClock(t);
  const { live, fired, socket } = open();
  socket.onopen();
  send(socket, extent(1), extent(2));
  socket.onclose();
  await pass(1000);
  const second = sockets.at(-1);
  assert.notEqual(second, socket);
  second.onopen();
  send(second, extent(5));
  live.listen();
  assert.deepEqual(fired, ["begin"]);
});
