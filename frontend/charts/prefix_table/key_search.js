// The search for tasks by a part of their key: a form that leads to the page of what is found.

import { element } from "../../element.js";

/** @typedef {import("../../types.js").Context} Context */

const LONGEST = 2000; // characters of a key

/**
 * The times between which tasks are searched: those of a run, none for a cluster.
 * @param {Pick<Context, "info">} context
 * @returns {[string, string][]} parameters of the page
 */
export function searchedTimes({ info }) {
  if (info.is_whole) return [];
  /** @type {[string, string][]} */
  const times = [["from", info.started.toFixed(6)]];
  if (info.ended !== null) times.push(["to", info.ended.toFixed(6)]);
  return times;
}

/**
 * The page with the tasks that have a text in their key.
 * @param {Context} context
 * @param {string} text
 * @returns {string|null} null where there are no such pages, as through a link
 */
export function searchUrl(context, text) {
  const { pages } = context.source;
  return pages === null
    ? null
    : `${pages}tasks/?${new URLSearchParams([["q", text], ...searchedTimes(context)])}`;
}

/**
 * @param {Context} context
 * @returns {HTMLElement|string} nothing where there are no pages of tasks
 */
export function keySearch(context) {
  const { pages } = context.source;
  if (pages === null) return "";
  const field = element("input", "");
  Object.assign(field, {
    type: "search",
    name: "q",
    placeholder: "any part of a key",
    maxLength: LONGEST,
    required: true,
  });
  field.setAttribute("aria-label", "Find tasks by any part of their key");
  const button = element("button", "", "Find tasks");
  button.type = "submit";
  const times = searchedTimes(context).map(([name, value]) =>
    Object.assign(element("input", ""), { type: "hidden", name, value }),
  );
  const form = element("form", "key-search", field, button, ...times);
  form.method = "get";
  form.action = `${pages}tasks/`;
  form.setAttribute("role", "search");
  return form;
}
