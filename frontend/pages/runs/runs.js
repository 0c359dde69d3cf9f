// The list of runs: one box ticks all runs of the page, and what is ticked is counted.

import "../site/lists.js";

const rows = document.getElementById("rows");
rows?.addEventListener("change", (event) => {
  const box = /** @type {HTMLInputElement} */ (event.target);
  if (box.matches("[data-tick-all]")) for (const one of boxes()) one.checked = box.checked;
  show();
});
// lists.js replaces the rows, without a tick on them
if (rows) new MutationObserver(show).observe(rows, { childList: true });
show();

function show() {
  const all = /** @type {HTMLInputElement|null} */ (document.querySelector("[data-tick-all]"));
  const words = document.querySelector("[data-ticked]");
  if (!all || !words) return;
  const ticked = boxes().filter((box) => box.checked).length;
  all.hidden = false;
  all.checked = ticked > 0 && ticked === boxes().length;
  all.indeterminate = ticked > 0 && !all.checked;
  words.textContent = ticked ? `${ticked} ticked:` : "Ticked runs:";
}

/** @returns {HTMLInputElement[]} */
function boxes() {
  return [...document.querySelectorAll("input[name=run]")].map((box) => /** @type {HTMLInputElement} */ (box));
}
