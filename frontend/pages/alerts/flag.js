// Keeps the flag in the header true: how many alerts fire. Asked for while somebody looks, and when they look again.

const EVERY = 12_000; // ms

const flag = document.getElementById("alert-flag");
if (flag) {
  setInterval(() => refresh(flag), EVERY);
  document.addEventListener("visibilitychange", () => refresh(flag));
}

/** @param {HTMLElement} element */
async function refresh(element) {
  if (document.hidden || element.contains(document.activeElement)) return;
  let page;
  try {
    const response = await fetch(element.dataset.url ?? "");
    if (!response.ok || response.redirected) return;
    page = new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return; // the server is away: what is shown stays, the next round tries again
  }
  if (page.body.innerHTML.trim() === element.innerHTML.trim()) return;
  element.replaceChildren(...Array.from(page.body.childNodes, (node) => document.importNode(node, true)));
}
