// A request that needs archived records is sent again until the server has them, and says meanwhile how far it is.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { fetchedHistory } from "../../../frontend/timeline/sources/fetched_history.js";

/** @typedef {[number, Record<string, unknown>]} Answer */

/**
 * A server that gives an answer to each request.
 * @param {import("node:test").TestContext} t
 * @param {Answer[]} answers
 */
async function serve(t, answers) {
  /** @type {(string|undefined)[]} */
  const preferred = [];
  const server = createServer((request, response) => {
    preferred.push(request.headers.prefer?.toString());
    const [status, body] = answers.shift() ?? [500, {}];
    response.writeHead(status, { "Retry-After": "0" }).end(JSON.stringify(body));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(null)));
  t.after(() => server.close());
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return { url: `http://127.0.0.1:${port}/`, preferred };
}

/** @param {import("node:test").TestContext} t @returns {string[]} what is said from now on */
function said(t) {
  /** @type {string[]} */
  const messages = [];
  const note = () => messages.push(fetchedHistory.message);
  fetchedHistory.addEventListener("change", note);
  t.after(() => fetchedHistory.removeEventListener("change", note));
  return messages;
}

/** @param {number} done @returns {Answer} */
const fetching = (done) => [503, { detail: `${done} of 9`, fetching: { done, rows: 9 } }];

test("a request is sent again until the records are there, and says how far they are", async (t) => {
  const messages = said(t);
  const { url, preferred } = await serve(t, [fetching(1), fetching(1), fetching(5), [200, { items: [] }]]);
  const response = await fetchedHistory.request(url);
  assert.deepEqual(await response.json(), { items: [] });
  assert.deepEqual(messages, ["1 of 9", "5 of 9", ""]);
  assert.deepEqual(preferred, Array(4).fill("wait=1"));
});

test("other answers are the caller's, and nothing is said", async (t) => {
  const messages = said(t);
  const { url } = await serve(t, [
    [503, { detail: "The archive is away." }],
    [404, {}],
  ]);
  const away = await fetchedHistory.request(url);
  assert.deepEqual([away.status, await away.json()], [503, { detail: "The archive is away." }]);
  assert.equal((await fetchedHistory.request(url)).status, 404);
  assert.deepEqual(messages, []);
});

test("a request that nobody wants any more ends", async (t) => {
  const messages = said(t);
  const { url } = await serve(t, [fetching(1)]);
  const controller = new AbortController();
  fetchedHistory.addEventListener("change", () => controller.abort(), { once: true });
  await assert.rejects(fetchedHistory.request(url, { signal: controller.signal }), { name: "AbortError" });
  assert.deepEqual(messages, ["1 of 9", ""]);
});
