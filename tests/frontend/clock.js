// Virtual time and a server in it: timers and answers come when a test says that time passes.

import "./browser.js";
import { mock } from "node:test";

let now = 1_000_000;

/** Replaces timers and performance.now() until the end of the test. @param {import("node:test").TestContext} t */
export function stopClock(t) {
  mock.timers.enable({ apis: ["setTimeout"] });
  const measured = performance.now;
  performance.now = () => now;
  t.after(() => {
    mock.timers.reset();
    performance.now = measured;
  });
}

/** Lets time pass, a few milliseconds at a time, with all that becomes due. @param {number} milliseconds */
export async function pass(milliseconds) {
  await settle();
  for (const end = now + milliseconds; now < end;) {
    const step = Math.min(5, end - now);
    now += step;
    mock.timers.tick(step);
    await settle();
  }
}

/** Lets time pass until something is true. @param {() => unknown} condition @param {number} atMost ms */
export async function until(condition, atMost = 10_000) {
  for (let passed = 0; passed <= atMost; passed += 5) {
    const found = condition();
    if (found) return found;
    await pass(5);
  }
  throw new Error(`it wasn't so within ${atMost} ms: ${condition}`);
}

/** Computes for a while, so that no timer can fire. @param {number} milliseconds */
export function compute(milliseconds) {
  now += milliseconds;
}

/** All promises that nothing holds up. */
async function settle() {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** @typedef {Uint8Array|string|number} Answer a body, or the status of a failure */

/** A source as timeline/sources/source.js describes it. `answer` may return a promise, or take its time with `takes`. */
export class Server {
  url = "/api/v1/clusters/1";
  pages = null;
  /** @type {string[]} */
  requests = [];
  /** @type {(path: string) => Answer|Promise<Answer>} */
  answer = () => 404;
  /** @type {import("../../frontend/timeline/sources/source.js").Source["tile"]} */
  tile = undefined;
  /** @type {(path: string) => number} ms */
  takes = () => 0;

  /**
   * @param {string} path
   * @param {{signal?: AbortSignal}} [options]
   */
  fetch = async (path, { signal } = {}) => {
    this.requests.push(path);
    const wait = this.takes(path);
    const answered = wait
      ? new Promise((resolve) => setTimeout(() => resolve(this.answer(path)), wait))
      : this.answer(path);
    const aborted = new Promise((_, reject) =>
      signal?.addEventListener("abort", () => reject(signal.reason)),
    );
    const answer = await Promise.race([answered, aborted]);
    return typeof answer === "number" ? new Response(null, { status: answer }) : new Response(answer);
  };
}

/** A promise that a test fulfils. */
export function gate() {
  /** @type {() => void} */
  let open = () => {};
  const opened = new Promise((resolve) => (open = () => resolve(undefined)));
  return { opened, open };
}
