// A dialog with a form. Errors appear at their fields, and what was typed is kept.

import { element } from "../../element.js";
import { Refused } from "../../sending.js";

/** @typedef {HTMLInputElement|HTMLTextAreaElement|HTMLSelectElement} Control */
/** @typedef {{name: string, label: string, control: Control, help?: string}} Field */

let count = 0;

export class FormDialog {
  #dialog;
  #heading = element("h2", "");
  #form = element("form", "form");
  #buttons = element("div", "actions");
  #problem = element("p", "error");
  #save;
  #fields;

  /**
   * @param {HTMLElement} parent
   * @param {Field[]} fields
   * @param {() => Promise<void>} submit called when the form is sent; may throw Refused
   */
  constructor(parent, fields, submit) {
    this.#fields = fields;
    this.#heading.id = `form-dialog-${++count}`;
    this.#problem.setAttribute("role", "alert");
    this.#save = element("button", "primary", "Save");
    this.#save.type = "submit";
    const cancel = element("button", "", "Cancel");
    cancel.type = "button";
    cancel.addEventListener("click", () => this.close());
    this.#buttons.append(this.#save, cancel);
    this.#form.append(...fields.map((field) => fieldElement(field)), this.#problem, this.#buttons);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#during(submit);
    });
    this.#dialog = element("dialog", "form-dialog", this.#heading, this.#form);
    this.#dialog.setAttribute("aria-labelledby", this.#heading.id);
    parent.append(this.#dialog);
  }

  /** @param {string} title */
  open(title) {
    this.#heading.textContent = title;
    this.#showProblems({});
    this.#form.hidden = false;
    this.#dialog.querySelector(".form-dialog-result")?.remove();
    this.#dialog.showModal();
    const first = this.#fields[0].control;
    first.focus();
    if (!(first instanceof HTMLSelectElement)) first.select();
  }

  close() {
    this.#dialog.close();
  }

  /**
   * A button beside the others, before "Cancel".
   * @param {string} label
   * @param {() => Promise<void>} action may throw Refused
   */
  addButton(label, action) {
    const button = element("button", "dangerous", label);
    button.type = "button";
    button.addEventListener("click", () => void this.#during(action));
    this.#buttons.append(button);
    return button;
  }

  /**
   * Shows what came of it in the form's place.
   * @param {string} title
   * @param {...Node} content the last of which takes the focus
   */
  showResult(title, ...content) {
    this.#heading.textContent = title;
    this.#form.hidden = true;
    const close = element("button", "", "Close");
    close.type = "button";
    close.addEventListener("click", () => this.close());
    const result = element("div", "form-dialog-result actions", ...content, close);
    this.#dialog.append(result);
    /** @type {HTMLElement} */ (result.firstElementChild).focus();
  }

  /**
   * Runs an action, one at a time, and shows its errors.
   * @param {() => Promise<void>} action
   */
  async #during(action) {
    if (this.#save.disabled) return;
    this.#save.disabled = true;
    this.#showProblems({});
    try {
      await action();
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      const known = this.#fields.some(({ name }) => error.fields[name]);
      this.#showProblems(known ? error.fields : { __all__: [error.message] });
    } finally {
      this.#save.disabled = false;
    }
  }

  /** @param {Record<string, string[]>} problems by field */
  #showProblems(problems) {
    const names = this.#fields.map(({ name }) => name);
    for (const { name, control } of this.#fields) {
      const messages = problems[name] ?? [];
      control.setAttribute("aria-invalid", String(messages.length > 0));
      const place = control.parentElement?.querySelector(".error");
      if (place) place.textContent = messages.join(" ");
    }
    const others = Object.entries(problems).filter(([name]) => !names.includes(name));
    this.#problem.textContent = others.flatMap(([, messages]) => messages).join(" ");
    this.#fields.find(({ name }) => problems[name])?.control.focus();
  }
}

/** @param {Field} field */
function fieldElement({ name, label, control, help }) {
  control.id = `${name}-${++count}`;
  const heading = element("label", "", label);
  heading.htmlFor = control.id;
  const problem = element("p", "error");
  problem.setAttribute("role", "alert");
  return element("div", "field", heading, control, ...(help ? [element("small", "", help)] : []), problem);
}
