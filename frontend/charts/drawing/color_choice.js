// Which colours prefixes have on the page: ones that can be told apart on the theme, or Dask's exact ones. The browser
// remembers the choice.

import { rgb, theme } from "./theme.js";

const KEY = "dask-colors";
let isExact = false;
try {
  isExact = localStorage.getItem(KEY) === "exact";
} catch {
  // storage is blocked
}

/** Whether Dask's exact colours are chosen. */
export function hasExactColors() {
  return isExact;
}

/** @param {boolean} exact */
export function chooseExactColors(exact) {
  isExact = exact;
  try {
    localStorage.setItem(KEY, exact ? "exact" : "apart");
  } catch {
    // storage is blocked: the choice is kept for this page only
  }
  window.dispatchEvent(new Event("colorchange"));
}

/** @returns {import("../../timeline/colors/oklab.js").Rgb[]} those on which the colours of prefixes have to be seen */
export function backgrounds() {
  return [rgb(theme().background), rgb(theme().plot)];
}

/**
 * Sets the prefixes' colours now and whenever the choice or the theme changes.
 * @param {(backgrounds: import("../../timeline/colors/oklab.js").Rgb[], isExact: boolean) => void} setColors as Model.setColors
 */
export function followColorChoice(setColors) {
  const update = () => setColors(backgrounds(), isExact);
  for (const name of ["themechange", "colorchange"]) window.addEventListener(name, update);
  update();
}
