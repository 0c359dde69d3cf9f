// The list of runs: a box selects all runs on the page, and the selected ones are counted.

import "../site/lists.js";

const rows = document.getElementById("rows");
rows?.addEventListener("change", (event) => {
  const box = /** @type {HTMLInputElement} */ (event.target);
  if (box.matches("[data-tick-all]")) for (const one of boxes()) one.checked = box.checked;
  show();
});
// lists.js replaces the rows, without selection
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
  words.textContent = ticked ? `${ticked} selected:` : "Selected runs:";
}

/** @returns {HTMLInputElement[]} */
function boxes() {
  return [...document.querySelectorAll("input[name=run]")].map((box) => /** @type {HTMLInputElement} */ (box));
}
