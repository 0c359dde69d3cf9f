// Sets of ids as short texts: "3,7-9". The ids of a cluster's prefixes follow each other, so many of them are a few ranges.

/** @param {Iterable<number>} ids whole numbers */
export function formatIds(ids) {
  const sorted = [...new Set(ids)].sort((one, other) => one - other);
  const parts = [];
  for (let first = 0, last = 0; first < sorted.length; first = last += 1) {
    while (sorted[last + 1] === sorted[last] + 1) last += 1;
    parts.push(last > first ? `${sorted[first]}-${sorted[last]}` : `${sorted[first]}`);
  }
  return parts.join(",");
}

/**
 * @param {string} text from an address
 * @param {number} most ids; what is beyond them is left out, so that a short text can't become a huge set
 * @returns {number[]} without what is no id or range
 */
export function parseIds(text, most) {
  /** @type {Set<number>} */
  const found = new Set();
  for (const part of text.split(",")) {
    const ends = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part);
    if (!ends) continue;
    const [first, last] = [Number(ends[1]), Number(ends[2] ?? ends[1])];
    for (let id = Math.max(first, 1); id <= last && found.size < most; id++) found.add(id);
  }
  return [...found];
}
