// The page of a rule in the admin: a form that reads as a sentence, and a back-test.

import { element } from "../../element.js";
import { ConditionFields } from "./condition.js";
import { BackTest } from "./back_test.js";
import { ruleInWords } from "./text.js";
import { showWarnings } from "./warnings.js";

/** @param {string} selector @returns {any} */
const find = (selector) => document.querySelector(selector);

class RulePage {
  #rule = /** @type {HTMLElement} */ (find("#rule"));
  #form = /** @type {HTMLFormElement} */ (this.#rule.closest("form"));
  #conditions;
  #backTest;

  constructor() {
    const fieldsets = /** @type {HTMLFieldSetElement[]} */ ([
      ...this.#rule.querySelectorAll("fieldset.condition"),
    ]);
    this.#conditions = fieldsets.map(
      (fieldset) =>
        new ConditionFields(
          fieldset,
          (prefix) => this.#recent(prefix),
          (name, hold) => this.#complete(name, hold),
        ),
    );
    this.#conditions[0].fieldset.hidden = false;
    this.#backTest = new BackTest(
      this.#form,
      find("#back-test"),
      (limit, text) => this.#written()[0]?.set(limit, text),
      (problems) => this.#showProblems(problems),
      (warnings) =>
        showWarnings(find("#rule-warnings"), warnings, (warning, fix) => this.#mend(warning, fix)),
    );
    this.#add();
    for (const kind of ["input", "change"])
      this.#form.addEventListener(kind, (event) => this.#changed(event));
    this.#update();
    // it fills in the name, too
    if (!this.#written().length && !find("#id_name")?.value) this.#conditions[0].field("quantity").focus();
    this.#choose(new URLSearchParams(location.search).get("quantity") ?? "");
    void this.#load();
    this.#runBackTest();
  }

  /** Completes the rule after a quantity was chosen: a name if there is none, and the first condition's hold time. */
  #complete(/** @type {string} */ name, /** @type {string} */ hold) {
    const [nameField, holdField] = [find("#id_name"), find("#id_hold_seconds")];
    if (nameField && !nameField.value.trim()) nameField.value = name;
    if (holdField && this.#written().length <= 1) holdField.value = hold;
  }

  /** Fills in the quantity that a chart's menu led here for. */
  #choose(/** @type {string} */ quantity) {
    const [first] = this.#conditions;
    const choice = /** @type {HTMLSelectElement} */ (first.field("quantity"));
    if (first.isWritten || ![...choice.options].some((option) => option.value && option.value === quantity))
      return;
    choice.value = quantity;
    choice.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #runBackTest() {
    const written = this.#written();
    this.#backTest.lookBack(written[0]?.isRun ? "month" : "hour");
    if (written.length && written.every((condition) => condition.isComplete)) this.#backTest.soon();
  }

  #written() {
    return this.#conditions.filter((condition) => condition.isWritten);
  }

  /** @param {import("./warnings.js").Warning} warning @param {string} fix */
  #mend(warning, fix) {
    const condition = this.#conditions.find((each) => each.prefix === warning.prefix);
    condition?.set(warning.field, fix);
    condition?.field(warning.field).focus();
  }

  #add() {
    const place = /** @type {HTMLElement} */ (this.#rule.querySelector(".rule-add"));
    place.querySelector("button")?.addEventListener("click", () => {
      const next = this.#conditions.find((condition) => condition.fieldset.hidden);
      if (!next) return;
      next.fieldset.hidden = false;
      next.field("quantity").focus();
      this.#update();
    });
  }

  /** @param {Event} event */
  #changed(event) {
    const field = /** @type {HTMLElement} */ (event.target);
    if (find("#back-test").contains(field)) return;
    this.#update();
    this.#runBackTest();
  }

  #update() {
    const shown = this.#conditions.filter((condition) => condition.isShown).length;
    const canAdd = this.#conditions.some((condition) => condition.fieldset.hidden) && shown > 0;
    /** @type {HTMLElement} */ (this.#rule.querySelector(".rule-add")).hidden = !canAdd;
    const severity = find("#id_severity")?.value ?? "";
    const words = ruleInWords(this.#written(), severity, find("#id_hold_seconds")?.value.trim() ?? "");
    const summary = /** @type {HTMLElement} */ (this.#rule.querySelector(".rule-summary"));
    summary.textContent = words;
    summary.hidden = words === "";
  }

  async #load() {
    const answer = await fetch(this.#rule.dataset.metrics ?? "").catch(() => null);
    if (!answer?.ok) return; // names can still be typed
    const { metrics } = await answer.json();
    for (const condition of this.#conditions) condition.metrics = metrics;
  }

  /** @param {string} prefix */
  async #recent(prefix) {
    const body = new FormData(this.#form);
    body.set("recent", prefix);
    const answer = await fetch(this.#rule.dataset.recent ?? "", { method: "POST", body });
    if (!answer.ok) throw new Error(`${answer.status}`);
    return answer.json();
  }

  /**
   * Shows problems at their fields and returns those without a field.
   * @param {Record<string, string[]>} problems
   */
  #showProblems(problems) {
    for (const wrong of this.#rule.querySelectorAll(".rule-wrong")) {
      wrong.classList.remove("rule-wrong");
      wrong.querySelector(".rule-problem")?.remove();
    }
    /** @type {string[]} */
    const others = [];
    for (const [name, messages] of Object.entries(problems)) {
      const place = name ? this.#rule.querySelector(`[name="${name}"]`)?.closest(".rule-word") : null;
      if (!place) others.push(...messages);
      place?.classList.add("rule-wrong");
      place?.append(element("span", "rule-problem", messages.join(" ")));
    }
    return others;
  }
}

if (find("#rule")) new RulePage();
