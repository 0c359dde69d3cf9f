// The dialog that lists the commands with their keys.

import { element } from "../../element.js";
import { keysText } from "../../timeline/controls/commands.js";

/** @typedef {import("../../timeline/controls/commands.js").Command} Command */

/**
 * A button that opens the dialog, which is made when it is opened first: its many elements would delay the page.
 * @param {HTMLElement} parent
 * @param {Command[]} commands
 * @returns {() => void} opens the dialog
 */
export function createKeysDialog(parent, commands) {
  /** @type {HTMLDialogElement|null} */
  let dialog = null;
  const open = () => {
    if (!dialog) parent.append((dialog = dialogOf(commands)));
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

/** @param {Command[]} commands */
function dialogOf(commands) {
  const list = element("dl", "keys");
  for (const command of commands)
    list.append(element("dt", "", keysText(command)), element("dd", "", command.does));
  const close = element("button", "", "Close");
  const form = element("form", "", close);
  form.method = "dialog";
  const dialog = element("dialog", "keys-dialog", element("h2", "", "Mouse and keys"), list, form);
  dialog.addEventListener("click", (event) => event.target === dialog && dialog.close());
  return dialog;
}
