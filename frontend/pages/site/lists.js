// Refreshes lists and cards: reloads the content of the element with data-refresh="SECONDS" at this interval, unless
// the page is hidden or the element is in use, and until the server sends it without the attribute.

const list = /** @type {HTMLElement|null} */ (document.querySelector("[data-refresh]"));
const timer = list ? setInterval(() => refresh(list), 1000 * Number(list.dataset.refresh)) : 0;

/** @param {HTMLElement} element */
async function refresh(element) {
  if (document.hidden || isInUse(element)) return;
  let page;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return;
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return; // the server is unreachable: keep the content, try again next time
  }
  const fresh = page.getElementById(element.id);
  if (fresh && !isInUse(element) && fresh.innerHTML !== element.innerHTML) {
    element.replaceChildren(...Array.from(fresh.childNodes, (node) => document.importNode(node, true)));
    if (!fresh.dataset.refresh) clearInterval(timer);
  }
}

/** @param {HTMLElement} element */
function isInUse(element) {
  const selection = document.getSelection();
  const isOpen = element.querySelector("details[open]") !== null;
  const selects = selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode);
  const isChecked = element.querySelector("input:checked") !== null;
  return selects || isChecked || isOpen || element.contains(document.activeElement);
}
