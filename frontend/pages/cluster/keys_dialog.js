// The dialog that lists the keys.

import { element } from "../../element.js";

/**
 * @param {HTMLElement} parent
 * @param {[string, string][]} keys each and what it does
 * @returns {HTMLDialogElement}
 */
export function createKeysDialog(parent, keys) {
  const list = element("dl", "keys");
  for (const [key, meaning] of keys) list.append(element("dt", "", key), element("dd", "", meaning));
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
