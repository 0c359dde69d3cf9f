// Searches the tasks of further clusters, page after page, until enough are found or somebody stops it.

import { fetchPage, imported } from "./fetched_page.js";

const ENOUGH = 20; // clusters with tasks

const found = document.getElementById("found-tasks");
const progress = document.getElementById("search-progress");
const isFirst = !new URLSearchParams(location.search).has("skip");
if (found && progress && isFirst) void searchOn(found, progress);

/**
 * @param {HTMLElement} found
 * @param {HTMLElement} progress says how many clusters are searched, and leads to the next page
 */
async function searchOn(found, progress) {
  for (;;) {
    const next = /** @type {HTMLAnchorElement|null} */ (progress.querySelector("a[rel=next]"));
    if (!next || found.querySelectorAll("[data-cluster]").length >= ENOUGH) return;
    const stopping = stopButton(next, progress);
    const page = await fetchPage(next.href, stopping.signal);
    next.hidden = false;
    if (!page) return; // stopped, or the server is unreachable: the link leads on
    append(found, page);
    const following = page.getElementById("search-progress");
    progress.replaceChildren(...imported(following?.childNodes ?? []));
  }
}

/**
 * Shows a button in place of the link to the next page.
 * @param {HTMLElement} next
 * @param {HTMLElement} progress
 */
function stopButton(next, progress) {
  const stopping = new AbortController();
  const button = progress.querySelector("button");
  next.hidden = true;
  if (button) {
    button.hidden = false;
    button.addEventListener("click", () => {
      button.hidden = true;
      stopping.abort();
    });
  }
  return stopping;
}

/**
 * @param {HTMLElement} found
 * @param {Document} page the next one
 */
function append(found, page) {
  const section = found.querySelector("section");
  const more = page.querySelector("#found-tasks section");
  if (section) section.append(...imported(more?.querySelectorAll("[data-cluster]") ?? []));
  else if (more) found.prepend(...imported([more]));
  found.append(...imported(page.querySelectorAll("#found-tasks > .message")));
  const isEmpty = !document.querySelector("[data-found]");
  if (isEmpty) found.append(...imported(page.querySelectorAll("#found-tasks > .empty")));
}
