// The dialog that tells the keys.

import { KEYS } from "../timeline/gestures.js";
import { element } from "../element.js";

/**
 * @param {HTMLElement} parent
 * @returns {HTMLDialogElement}
 */
export function createKeysDialog(parent) {
  const list = element("dl", "keys");
  for (const [keys, meaning] of KEYS) list.append(element("dt", "", keys), element("dd", "", meaning));
  const close = element("button", "", "Close");
  const form = element("form", "", close);
  form.method = "dialog";
  const dialog = element("dialog", "keys-dialog", element("h2", "", "Mouse and keys"), list, form);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  const opener = element("button", "keys-button", "?");
  opener.type = "button";
  opener.title = "Mouse and keys (?)";
  opener.setAttribute("aria-label", opener.title);
  opener.addEventListener("click", () => dialog.showModal());
  parent.append(opener, dialog);
  return dialog;
}
