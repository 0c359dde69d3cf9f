// Lists that are refreshed, whose rows are selected by checkboxes: one box selects all rows on the page that may be changed, and the selected
// ones are counted in the element with data-ticked="NOUN".

import "./lists.js";

const rows = document.getElementById("rows");
rows?.addEventListener("change", (event) => {
  const box = /** @type {HTMLInputElement} */ (event.target);
  if (box.matches("[data-tick-all]")) for (const one of changeable()) one.checked = box.checked;
  show();
});
// lists.js replaces the rows, without selection
if (rows) new MutationObserver(show).observe(rows, { childList: true });
show();

function show() {
  const all = /** @type {HTMLInputElement|null} */ (document.querySelector("[data-tick-all]"));
  const words = /** @type {HTMLElement|null} */ (document.querySelector("[data-ticked]"));
  if (!words) return;
  const ticked = boxes().filter((box) => box.checked).length;
  words.textContent = ticked ? `${ticked} selected:` : `Selected ${words.dataset.ticked}:`;
  if (!all) return;
  all.hidden = false;
  all.checked = ticked > 0 && changeable().every((box) => box.checked);
  all.indeterminate = ticked > 0 && !all.checked;
}

function changeable() {
  return boxes().filter((box) => box.dataset.readOnly === undefined);
}

/** @returns {HTMLInputElement[]} */
function boxes() {
  return [...document.querySelectorAll("td.tick input")].map((box) => /** @type {HTMLInputElement} */ (box));
}
