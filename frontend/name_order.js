// The order in which people look for names: "worker-2" before "worker-10", and capitals beside small letters.
// Intl.Collator has such an order, too, but its first use takes 25 ms and more of a page's opening.

const LONGEST_NUMBER = 20; // digits; longer ones are sorted as texts

/**
 * A text that sorts as the name is to be sorted.
 * @param {string} name
 */
export function nameKey(name) {
  return name.toLowerCase().replace(/\d+/g, (digits) => digits.padStart(LONGEST_NUMBER, "0"));
}

/**
 * Items in the order of their names; those of the same name in the order in which they are.
 * @template Item
 * @param {Iterable<Item>} items
 * @param {(item: Item) => string} nameOf
 * @returns {Item[]}
 */
export function sortedByName(items, nameOf) {
  return Array.from(items, (item) => ({ item, key: nameKey(nameOf(item)) }))
    .sort(({ key: one }, { key: other }) => (one < other ? -1 : Number(one > other)))
    .map(({ item }) => item);
}
