// Pages and parts of pages that the server sends as HTML, and what of them goes into the page that is shown.

/**
 * @param {string} url
 * @param {AbortSignal} [signal]
 * @returns {Promise<Document|null>} null: the server is unreachable, refuses, wants a sign-in, or `signal` came
 */
export async function fetchPage(url, signal) {
  try {
    const response = await fetch(url, { headers: { Accept: "text/html" }, signal });
    if (!response.ok || response.redirected) return null;
    return new DOMParser().parseFromString(await response.text(), "text/html");
  } catch {
    return null;
  }
}

/** @param {Iterable<Node>} nodes of another document; copies of them for this one */
export function imported(nodes) {
  return Array.from(nodes, (node) => document.importNode(node, true));
}
