// The name of a prefix, or of one of its groups, beside the prefix's colour; and whether only other runs submitted it.

import { element } from "../../element.js";

/**
 * @param {string} name
 * @param {number} prefix id
 * @param {import("../../timeline/model.js").Model} model
 */
export function prefixCell(name, prefix, model) {
  const swatch = element("i", "swatch");
  swatch.style.backgroundColor = model.color(prefix);
  const cell = element("span", "prefix-name", swatch, element("span", "", name));
  if (model.prefixes.get(prefix)?.is_other) cell.append(element("small", "", "other runs"));
  return cell;
}
