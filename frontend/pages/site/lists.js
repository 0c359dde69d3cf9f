// Keeps a list fresh: every few seconds the element with data-refresh="SECONDS" is replaced by what the server
// shows now, unless the page is hidden or somebody is using the list.

const list = /** @type {HTMLElement|null} */ (document.querySelector("[data-refresh]"));
if (list) setInterval(() => refresh(list), 1000 * Number(list.dataset.refresh));

/** @param {HTMLElement} element */
async function refresh(element) {
  if (document.hidden || isInUse(element)) return;
  let page;
  try {
    const response = await fetch(location.href, { headers: { Accept: "text/html" } });
    if (!response.ok || response.redirected) return;
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return; // the server is away: what is shown stays, the next round tries again
  }
  const fresh = page.getElementById(element.id);
  if (fresh && !isInUse(element) && fresh.innerHTML !== element.innerHTML) {
    element.replaceChildren(...Array.from(fresh.childNodes, (node) => document.importNode(node, true)));
  }
}

/** @param {HTMLElement} element */
function isInUse(element) {
  const selection = document.getSelection();
  const unfolded = element.querySelector("details[open]") !== null;
  const selects = selection !== null && !selection.isCollapsed && element.contains(selection.anchorNode);
  const ticked = element.querySelector("input:checked") !== null;
  return selects || ticked || unfolded || element.contains(document.activeElement);
}
