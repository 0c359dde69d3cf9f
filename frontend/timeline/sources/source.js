// Where the data of a timeline comes from: a server's cluster, run or public link. An exported file has a source of
// its own (embedded.js).

import { fetchedHistory } from "./fetched_history.js";

/**
 * `url` is what information, /lanes, /tiles, /state, /span and /stacks are below; `fetch` is like the browser's; `live`:
 * where the socket of what is committed is, null where there is none. `pages` is what the pages of records are below
 * (errors, logs, tasks), `notes` where notes are; null where there are none. `run`: the run that it is of, to those who see the
 * project's runs. `api`: what the API is below, to those who may change the run. `workerPages`: what the URLs of Dask's own pages of living workers begin with, where they are on. `isFile`: whether it answers of the whole
 * run alone, not of windows. `sendsSeveral`: whether it answers a request for several tiles. `tile`: a tile that the source makes itself;
 * null where it is fetched. `worker`: the URL of the worker that lays out graphs, where it isn't a module beside the page's.
 * @typedef {{url: string, live: string|null, pages: string|null, notes: string|null,
 *   run?: number, api?: string, workerPages?: string, isFile?: boolean, sendsSeveral?: boolean, tile?: (place: {layer: string, level: number, index: number}) => Promise<MadeTile|null>,
 *   worker?: () => Promise<string>,
 *   fetch: (url: string, options?: RequestInit) => Promise<Response>}} Source
 * @typedef {{blocks: import("../../types.js").Block[], bytes: number}} MadeTile
 */

/**
 * The source that a page names: data-url, and, where there is one, data-live, data-pages, data-notes, data-run,
 * data-api and data-worker-pages.
 * @param {HTMLElement} main
 * @returns {Source}
 */
export function sourceOf(main) {
  const { url = "", live, pages, notes, run, api, workerPages } = main.dataset;
  return {
    ...serverSource(url),
    live: live ? `${location.origin.replace(/^http/, "ws")}${live}` : null,
    pages: pages ?? null,
    notes: notes ?? null,
    run: run ? Number(run) : undefined,
    api,
    workerPages,
  };
}

/**
 * A server's timeline, and nothing beside it.
 * @param {string} url
 * @returns {Source}
 */
export function serverSource(url) {
  return {
    url,
    live: null,
    pages: null,
    notes: null,
    sendsSeveral: true,
    fetch: (path, options) => fetchedHistory.request(path, options),
  };
}

/**
 * The documents of a timeline, by their paths below the source's URL.
 * @typedef {import("../../types.js").Schemas} Schemas
 * @typedef {{"": Schemas["ClusterInfo"], "/lanes": Schemas["Lanes"], "/alerts": Schemas["TimelineAlerts"]}} Documents
 */

/**
 * @template {keyof Documents} Path
 * @param {Source} source
 * @param {Path} path
 * @returns {Promise<Documents[Path]>} rejects when the server can't be reached or refuses
 */
export async function getJson(source, path) {
  const response = await source.fetch(`${source.url}${path}`);
  if (!response.ok) throw new Error(`the server answered ${response.status}`);
  return response.json();
}

/**
 * Why the server refused a request, for people.
 * @param {Response} response
 * @returns {Promise<string>}
 */
export async function reasonOf(response) {
  const said = [413, 422, 429, 503].includes(response.status)
    ? (await response.json().catch(() => null))?.detail
    : null;
  return typeof said === "string" ? said : `the server answered ${response.status}`;
}
