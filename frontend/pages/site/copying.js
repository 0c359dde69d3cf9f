// Buttons that copy the text of an element: <button data-copy="id of the element" hidden>.

const SHOWN = 1500; // ms

for (const button of document.querySelectorAll("button[data-copy]"))
  bind(/** @type {HTMLButtonElement} */ (button));

/** @param {HTMLButtonElement} button */
function bind(button) {
  const source = document.getElementById(button.dataset.copy ?? "");
  if (!source || !navigator.clipboard) return; // browsers have no clipboard on pages without TLS
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(source.textContent ?? "");
      button.textContent = "Copied";
    } catch {
      button.textContent = "Copying failed";
    }
    setTimeout(() => (button.textContent = label), SHOWN);
  });
}
