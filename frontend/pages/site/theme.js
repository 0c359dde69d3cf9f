// The theme: light, dark, or automatic, as in the system. A classic script in the head, which runs before the first
// paint so that dark pages don't flash white. <html data-theme> is always "light" or "dark"; window gets the event
// "themechange" when it changes, for charts on a canvas.
"use strict";
(() => {
  const NAMES = ["auto", "light", "dark"];
  const SIGNS = { auto: "◐", light: "☀", dark: "☾" };
  const LABELS = { auto: "Theme: automatic", light: "Theme: light", dark: "Theme: dark" };
  const system = window.matchMedia("(prefers-color-scheme: dark)");

  /** @returns {"auto"|"light"|"dark"} */
  function chosen() {
    try {
      const stored = localStorage.getItem("theme");
      return stored === "light" || stored === "dark" ? stored : "auto";
    } catch {
      return "auto"; // storage is blocked
    }
  }

  /** @param {string} name */
  function choose(name) {
    try {
      localStorage.setItem("theme", name);
    } catch {
      // storage is blocked: the choice is kept for this page only
    }
    apply(name);
  }

  /** @param {string} name */
  function apply(name) {
    const dark = name === "dark" || (name === "auto" && system.matches);
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    document.documentElement.dataset.chosen = name;
    label(name);
    window.dispatchEvent(new Event("themechange"));
  }

  /** @param {string} name */
  function label(name) {
    const button = document.getElementById("theme");
    if (!button) return;
    button.hidden = false;
    button.textContent = SIGNS[/** @type {keyof typeof SIGNS} */ (name)];
    button.title = LABELS[/** @type {keyof typeof LABELS} */ (name)];
    button.setAttribute("aria-label", button.title);
  }

  function bind() {
    label(chosen());
    document.getElementById("theme")?.addEventListener("click", () => {
      const current = document.documentElement.dataset.chosen ?? "auto";
      choose(NAMES[(NAMES.indexOf(current) + 1) % NAMES.length]);
    });
  }

  apply(chosen());
  system.addEventListener("change", () => apply(document.documentElement.dataset.chosen ?? "auto"));
  window.addEventListener("storage", (event) => event.key === "theme" && apply(chosen()));
  document.addEventListener("DOMContentLoaded", bind);
})();
