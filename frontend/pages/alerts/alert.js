// The page of an alert: loads the chart of its history and its findings after the page, because they take time to make.

for (const place of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-loads]")))
  void load(place);

/** @param {HTMLElement} element */
async function load(element) {
  const response = await fetch(element.dataset.loads ?? "").catch(() => null);
  if (!response?.ok || response.redirected) {
    if (element.firstChild)
      element.textContent = "This can't be loaded. Load the page again to try once more.";
    return;
  }
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  element.replaceChildren(...Array.from(page.body.childNodes, (node) => document.importNode(node, true)));
}
