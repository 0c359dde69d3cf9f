// The key “/” leads to the field of the search in the header, on the page of the search to its own.

const FIELDS = 'input, textarea, select, [contenteditable]:not([contenteditable="false"]), dialog[open]';

addEventListener("keydown", (event) => {
  const target = event.target instanceof Element ? event.target : document.body;
  if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey || target.closest(FIELDS)) return;
  const field = /** @type {HTMLInputElement|null} */ (
    document.querySelector('[role="search"] input[name="q"]')
  );
  if (!field) return;
  event.preventDefault();
  field.focus();
  field.select();
});
