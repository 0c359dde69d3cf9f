// The choice of what the rows of a table are: buttons of which one is pressed.

import { element } from "../../element.js";

/**
 * @template {string} Name
 * @param {string} label
 * @param {Readonly<Record<Name, string>>} titles of the buttons
 * @param {Name} first that is pressed at first
 * @param {(name: Name) => void} choose called at each click
 */
export function kindChoice(label, titles, first, choose) {
  const group = element("div", "kind-choice");
  group.setAttribute("role", "group");
  group.setAttribute("aria-label", label);
  const names = /** @type {Name[]} */ (Object.keys(titles));
  const buttons = names.map((name) => {
    const button = element("button", "", titles[name]);
    button.type = "button";
    button.setAttribute("aria-pressed", String(name === first));
    button.addEventListener("click", () => {
      for (const other of buttons) other.setAttribute("aria-pressed", String(other === button));
      choose(name);
    });
    return button;
  });
  group.append(...buttons);
  return group;
}
