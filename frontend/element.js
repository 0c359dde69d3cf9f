/**
 * An element with a class and children; text children are text, never markup.
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} name its class
 * @param {...(Node|string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children);
  return made;
}

/**
 * Notes what an element shows. Returns whether it showed that already: it then stays as it is, because a button in it
 * may be pressed, or have the focus.
 * @param {HTMLElement} place
 * @param {unknown} what
 */
export function showsAlready(place, what) {
  const [before, now] = [place.dataset.shown, JSON.stringify(what)];
  place.dataset.shown = now;
  return before === now;
}

/**
 * An SVG element with attributes.
 * @template {keyof SVGElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string|number>} attributes
 * @returns {SVGElementTagNameMap[Tag]}
 */
export function svgElement(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, String(value));
  return made;
}
