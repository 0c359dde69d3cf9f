// The page of an alert: its chart is asked for when the page is there, since a long one takes a moment to read.

const place = document.getElementById("alert-course");
if (place) void load(place);

/** @param {HTMLElement} element */
async function load(element) {
  const response = await fetch(element.dataset.url ?? "").catch(() => null);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  element.replaceChildren(...Array.from(page.body.childNodes, (node) => document.importNode(node, true)));
}
