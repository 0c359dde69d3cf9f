// Keeps the number of firing alerts in the header up to date, while the page is visible and when it becomes visible.

const INTERVAL = 12_000; // ms

const flag = document.getElementById("alert-flag");
if (flag) {
  setInterval(() => refresh(flag), INTERVAL);
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
    return; // the server is down: keep what is shown and try again later
  }
  if (page.body.innerHTML.trim() === element.innerHTML.trim()) return;
  element.replaceChildren(...Array.from(page.body.childNodes, (node) => document.importNode(node, true)));
}
