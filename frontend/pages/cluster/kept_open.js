// Whether the card of a run is open is kept for each person, in the browser's storage.

const KEY = "run-card";

/** @param {HTMLDetailsElement} strip */
export function keepOpen(strip) {
  try {
    strip.open = localStorage.getItem(KEY) === "open";
  } catch {
    // storage is blocked
  }
  strip.addEventListener("toggle", () => {
    try {
      localStorage.setItem(KEY, strip.open ? "open" : "folded");
    } catch {
      // storage is blocked: the choice is kept for this page only
    }
  });
}
