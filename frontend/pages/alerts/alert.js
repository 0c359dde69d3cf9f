// The page of an alert: loads the chart of its history and its findings after the page, because they take time to make.

import { fetchPage, imported } from "../site/fetched_page.js";

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-loads]")))
  void load(place);

/** @param {HTMLElement} element */
async function load(element) {
  const page = await fetchPage(element.dataset.loads ?? "");
  if (!page) {
    if (element.firstChild)
      element.textContent = "This can't be loaded. Load the page again to try once more.";
    return;
  }
  element.replaceChildren(...imported(page.body.childNodes));
}
