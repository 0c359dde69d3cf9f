// Keeps the number of firing alerts in the header up to date, while the page is visible and when it becomes visible.

import { fetchPage, imported } from "../site/fetched_page.js";

const INTERVAL = 12_000; // ms

const flag = document.getElementById("alert-flag");
if (flag) {
  setInterval(() => refresh(flag), INTERVAL);
  document.addEventListener("visibilitychange", () => refresh(flag));
}

/** @param {HTMLElement} element */
async function refresh(element) {
  if (document.hidden || element.contains(document.activeElement)) return;
  const page = await fetchPage(element.dataset.url ?? "");
  if (!page) return; // keep what is shown and try again later
  if (page.body.innerHTML.trim() === element.innerHTML.trim()) return;
  element.replaceChildren(...imported(page.body.childNodes));
}
