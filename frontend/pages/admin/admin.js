// Synchronizes django-unfold's theme with ours: sets its stored choice before unfold reads it, and follows choices in
// its menu. A classic script, loaded before theme.js and after htmx.
"use strict";
(() => {
  const [OURS, THEIRS] = ["theme", "adminTheme"];
  const DARK = "dark";

  /** @param {() => void} use a use of storage, which may be blocked */
  function stored(use) {
    try {
      use();
    } catch {
      // without storage every page has the system's theme
    }
  }

  function follow() {
    stored(() => {
      localStorage.setItem(OURS, JSON.parse(localStorage.getItem(THEIRS) ?? '"auto"'));
      window.dispatchEvent(new StorageEvent("storage", { key: OURS }));
    });
  }

  stored(() => localStorage.setItem(THEIRS, JSON.stringify(localStorage.getItem(OURS) ?? "auto")));
  // the content security policy forbids htmx's inline style
  Object.assign(/** @type {any} */ (window).htmx.config, { includeIndicatorStyles: false, allowEval: false });
  const root = document.documentElement;
  // until Alpine sets the class itself
  window.addEventListener("themechange", () => root.classList.toggle(DARK, root.dataset.theme === DARK), {
    once: true,
  });
  document.addEventListener("alpine:initialized", () => {
    new MutationObserver(follow).observe(root, { attributeFilter: ["class"] });
  });
})();
