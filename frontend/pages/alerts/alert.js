// The page of an alert: loads the chart of its history after the page, because a long history takes time to read.

const place = document.getElementById("alert-history");
if (place) void load(place);

/** @param {HTMLElement} element */
async function load(element) {
  const response = await fetch(element.dataset.url ?? "").catch(() => null);
  if (!response?.ok || response.redirected) return;
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  element.replaceChildren(...Array.from(page.body.childNodes, (node) => document.importNode(node, true)));
}
