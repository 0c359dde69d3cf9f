// The import form: accepts dropped files and refuses files that are too large.

import { formatBytes } from "../../formatting.js";

const form = /** @type {HTMLFormElement} */ (document.querySelector("form.drop"));
const input = /** @type {HTMLInputElement} */ (form.querySelector("[data-limit]"));
const limit = Number(input.dataset.limit);

input.addEventListener("change", check);
form.addEventListener("dragover", (event) => {
  event.preventDefault();
  form.classList.add("dropping");
});
form.addEventListener("dragleave", () => form.classList.remove("dropping"));
form.addEventListener("drop", (event) => {
  event.preventDefault();
  form.classList.remove("dropping");
  if (event.dataTransfer?.files.length) input.files = event.dataTransfer.files;
  check();
});

function check() {
  const isTooLarge = (input.files?.[0]?.size ?? 0) > limit;
  input.setCustomValidity(isTooLarge ? `The file is larger than ${formatBytes(limit)}, the maximum.` : "");
  if (isTooLarge) input.reportValidity();
}
