// What is told of the selected node: its figures, what it needs and what needs it.

import { element } from "../../element.js";
import { formatCount } from "../../formatting.js";

/** @typedef {import("./nodes.js").Nodes} Nodes */
/** @typedef {import("./nodes.js").Instant} Instant */

const MOST = 12; // neighbours that are listed

export class SelectedNode {
  element = element("div", "graph-node");
  #choose;
  #shown = "";

  /** @param {(node: number) => void} choose */
  constructor(choose) {
    this.#choose = choose;
    this.element.hidden = true;
  }

  /**
   * @param {Nodes|null} nodes
   * @param {Instant|null} instant
   * @param {number|null} node
   */
  show(nodes, instant, node) {
    this.element.hidden = !nodes || !instant || node === null;
    if (!nodes || !instant || node === null) return;
    const lines = instant.lines(node);
    const needed = neighbours(nodes.task, nodes.needed, node);
    const dependents = neighbours(nodes.needed, nodes.task, node);
    const content = JSON.stringify([nodes.names[node], lines, needed, dependents]);
    if (content === this.#shown) return;
    this.#shown = content;
    const list = element("dl", "");
    for (const [name, value] of lines)
      list.append(element("div", "", element("dt", "", name), element("dd", "", value)));
    this.element.replaceChildren(
      element("h3", "", nodes.names[node]),
      list,
      this.#links("needs", nodes, needed),
      this.#links("needed by", nodes, dependents),
    );
  }

  /** @param {string} title @param {Nodes} nodes @param {number[]} others */
  #links(title, { names }, others) {
    const paragraph = element("p", "", `${title}: `);
    if (!others.length) paragraph.append("nothing that is shown");
    for (const other of others.slice(0, MOST)) {
      const button = element("button", "link-button", names[other]);
      button.type = "button";
      button.addEventListener("click", () => this.#choose(other));
      paragraph.append(button, " ");
    }
    if (others.length > MOST) paragraph.append(`and ${formatCount(others.length - MOST)} more`);
    return paragraph;
  }
}

/**
 * @param {number[]} mine
 * @param {number[]} others
 * @param {number} node
 * @returns {number[]} each once
 */
export function neighbours(mine, others, node) {
  return [...new Set(others.filter((other, edge) => mine[edge] === node && other !== node))];
}
