// The admin's theme is ours: django-unfold keeps its own choice, which is set to ours before it reads it, and ours
// follows what is chosen in its menu. A classic script, loaded before theme.js and after htmx.
"use strict";
(() => {
  const [OURS, THEIRS] = ["theme", "adminTheme"];
  const DARK = "dark";

  /** @param {() => void} use of a storage that may be blocked */
  function stored(use) {
    try {
      use();
    } catch {
      // each page has the theme of the system then
    }
  }

  function follow() {
    stored(() => {
      localStorage.setItem(OURS, JSON.parse(localStorage.getItem(THEIRS) ?? '"auto"'));
      window.dispatchEvent(new StorageEvent("storage", { key: OURS }));
    });
  }

  stored(() => localStorage.setItem(THEIRS, JSON.stringify(localStorage.getItem(OURS) ?? "auto")));
  // its style for waiting, inline, is what the policy forbids
  Object.assign(/** @type {any} */ (window).htmx.config, { includeIndicatorStyles: false, allowEval: false });
  const root = document.documentElement;
  // until Alpine says so itself
  window.addEventListener("themechange", () => root.classList.toggle(DARK, root.dataset.theme === DARK), {
    once: true,
  });
  document.addEventListener("alpine:initialized", () => {
    new MutationObserver(follow).observe(root, { attributeFilter: ["class"] });
  });
})();
