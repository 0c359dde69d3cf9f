// The dialog that lists the keys.

import { element } from "../../element.js";

/**
 * A button that opens the dialog, which is made when it is opened first: its many elements would delay the page.
 * @param {HTMLElement} parent
 * @param {[string, string][]} keys each and what it does
 * @returns {() => void} opens the dialog
 */
export function createKeysDialog(parent, keys) {
  /** @type {HTMLDialogElement|null} */
  let dialog = null;
  const open = () => {
    if (!dialog) parent.append((dialog = dialogOf(keys)));
    dialog.showModal();
  };
  const opener = element("button", "keys-button", "?");
  opener.type = "button";
  opener.title = "Mouse and keys (?)";
  opener.setAttribute("aria-label", opener.title);
  opener.addEventListener("click", open);
  parent.append(opener);
  return open;
}

/** @param {[string, string][]} keys */
function dialogOf(keys) {
  const list = element("dl", "keys");
  for (const [key, meaning] of keys) list.append(element("dt", "", key), element("dd", "", meaning));
  const close = element("button", "", "Close");
  const form = element("form", "", close);
  form.method = "dialog";
  const dialog = element("dialog", "keys-dialog", element("h2", "", "Mouse and keys"), list, form);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
