// Refreshes lists and cards: reloads the content of the elements with data-refresh="SECONDS" at this interval, unless
// the page is hidden or the element is in use, and until the server sends them without the attribute.

import { fetchPage, imported } from "./fetched_page.js";

/** @type {HTMLElement[]} */
let lists = [...document.querySelectorAll("[data-refresh]")].map((list) => /** @type {HTMLElement} */ (list));
const timer = lists.length ? setInterval(refresh, 1000 * Number(lists[0].dataset.refresh)) : 0;

async function refresh() {
  if (document.hidden || lists.every(isInUse)) return;
  const page = await fetchPage(location.href);
  if (!page) return; // keep the content, try again next time
  for (const list of lists) replaceContent(list, page.getElementById(list.id));
  if (!lists.length) clearInterval(timer);
}

/**
 * @param {HTMLElement} list
 * @param {HTMLElement|null} fresh the same of the page as it is now
 */
function replaceContent(list, fresh) {
  if (!fresh || isInUse(list) || fresh.innerHTML === list.innerHTML) return;
  list.replaceChildren(...imported(fresh.childNodes));
  if (!fresh.dataset.refresh) lists = lists.filter((other) => other !== list);
}

/** @param {HTMLElement} element */
function isInUse(element) {
  const selection = document.getSelection();
  const isOpen = element.querySelector("details[open]") !== null;
  const selects = selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode);
  const isChecked = element.querySelector("input:checked") !== null;
  return selects || isChecked || isOpen || element.contains(document.activeElement);
}
