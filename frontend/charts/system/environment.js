// The machines, versions, surroundings and releases of the scheduler and the workers, those that differ first.

import { element } from "../../element.js";
import { formatCount, formatCountOf } from "../../formatting.js";
import { workerLabel } from "../../timeline/slots.js";
import { WindowData } from "../../timeline/window_data.js";
import { DataTable } from "../data_table/data_table.js";

/** @typedef {import("../../types.js").Chart} Chart */
/** @typedef {import("../../types.js").Context} Context */
/** @typedef {import("../../types.js").View} View */
/** @typedef {import("../../types.js").Schemas["Environment"]} Environment */
/** @typedef {Environment["facts"][number]} Fact */

const EVERY = 30_000; // ms, where the window moves with the present
const MOST_SHOWN = 3; // values of a fact, before it is opened

/** @type {Chart} */
export const environment = {
  name: "environment",
  title: "Hardware, versions and surroundings",
  place: "below",
  layers: [],
  help:
    "What the scheduler, the workers of the window and the last client told of their machines, packages, configuration, environment and release: where the processes " +
    "differ comes first. Open one to see which workers have which value.",
  create: (parent, context) => new EnvironmentTable(parent, context),
};

class EnvironmentTable {
  #parent;
  #context;
  #table;
  #note = element("p", "chart-empty");
  /** @type {WindowData<Environment>} */
  #data;

  /**
   * @param {HTMLElement} parent
   * @param {Context} context
   */
  constructor(parent, context) {
    this.#parent = parent;
    this.#context = context;
    this.#data = new WindowData(context.source, "/environment", EVERY);
    this.#data.addEventListener("change", () => this.#render());
    this.#table = new DataTable(
      parent,
      [
        { name: "name", title: "what", value: ({ name }) => name },
        { name: "kind", title: "kind", value: ({ kind }) => kind },
        {
          name: "differs",
          title: "differs",
          value: ({ differs }) => (differs ? "differs" : ""),
          help: "Whether the processes have different values",
        },
        { name: "scheduler", title: "scheduler", value: ({ scheduler }) => scheduler ?? "" },
        {
          name: "client",
          title: "client",
          value: ({ client }) => client ?? "",
          help: "The last client that opened a run",
        },
        { name: "workers", title: "workers", value: textOf },
      ],
      {
        label: "facts",
        empty: "Nothing is known of the processes of this window.",
        key: ({ kind, name }) => `${kind} ${name}`,
        find: (fact) =>
          `${fact.name} ${fact.kind} ${fact.differs ? "differs" : ""} ${fact.scheduler ?? ""} ${fact.client ?? ""} ${textOf(fact)}`,
        open: (fact) => this.#details(fact),
      },
    );
    parent.append(this.#note);
    this.#render();
  }

  destroy() {
    this.hide();
    this.#parent.replaceChildren();
  }

  hide() {
    this.#data.stop();
  }

  /** @param {View} view */
  draw(view) {
    this.#data.update(view);
  }

  table() {
    return this.#table.table();
  }

  #render() {
    const { answer, message } = this.#data;
    const facts = answer?.facts ?? [];
    const order = (/** @type {Fact} */ { differs }) => (differs ? 0 : 1);
    this.#table.show(
      [...facts].sort((one, other) => order(one) - order(other)),
      message,
    );
    const count = facts.filter(({ differs }) => differs).length;
    const differences = count
      ? `${formatCountOf(count, "difference")} between the processes.`
      : "All processes are alike.";
    this.#note.textContent = facts.length
      ? `${differences} ${this.#missing(answer?.is_hidden ?? false)}`
      : "";
  }

  /** @param {boolean} isHidden; what is not told, and why */
  #missing(isHidden) {
    if (isHidden) return "A link tells no more of the workers' machines.";
    return this.#context.info.has_agent
      ? ""
      : "The agent adds machines, packages, configuration and environment (docs/agent.md).";
  }

  /** @param {Fact} fact */
  #details(fact) {
    const { model, selection } = this.#context;
    const items = fact.values.map(({ value, count, workers }) => {
      const buttons = workers.flatMap((id) => {
        const worker = model.workers.get(id);
        if (!worker) return [];
        const button = element("button", "worker-link", workerLabel(worker));
        button.type = "button";
        button.title = "Select the worker";
        button.addEventListener("click", () =>
          selection.set({ worker: selection.worker === id ? null : id }),
        );
        return [button, " "];
      });
      const rest = count - workers.length;
      const more = rest > 0 ? [`and ${formatCount(rest)} more`] : [];
      return element(
        "li",
        "",
        element("b", "", value || "none"),
        ` ${formatCountOf(count, "worker")}: `,
        ...buttons,
        ...more,
      );
    });
    if (fact.more_values)
      items.push(element("li", "", `and ${formatCountOf(fact.more_values, "other value")}`));
    return element("ul", "fact-values", ...items);
  }
}

/** @param {Fact} fact; the values of the workers */
function textOf({ values, more_values }) {
  if (!values.length) return "";
  if (values.length === 1 && !more_values) return values[0].value || "none";
  const shown = values
    .slice(0, MOST_SHOWN)
    .map(({ value, count }) => `${value || "none"} (${formatCount(count)})`);
  const rest = values.length - shown.length + more_values;
  return [...shown, ...(rest > 0 ? [`${formatCount(rest)} more`] : [])].join(", ");
}
