// The rows of the table of fine performance metrics.

/** @typedef {import("../../types.js").Schemas["FinePerformance"]} Found */
/** @typedef {keyof typeof KINDS} KindName */
/** @typedef {keyof typeof UNITS} Unit */
/**
 * `share` is of all rows (0 to 1). `prefix` is an id, null where the row is not of a prefix.
 * @typedef {{key: string, name: string, prefix: number|null, activity: string, value: number, share: number}} Row
 */

export const KINDS = /** @type {const} */ ({
  prefixes: { title: "prefixes", heading: "prefix" },
  activities: { title: "activities", heading: "activity" },
  spans: { title: "Dask spans", heading: "Dask span" },
});
export const UNITS = /** @type {const} */ ({
  seconds: { title: "seconds", heading: "time", inCsv: "s" },
  bytes: { title: "bytes", heading: "bytes", inCsv: "bytes" },
  count: { title: "counts", heading: "count", inCsv: "" },
});

/**
 * @param {Found} found
 * @param {KindName} kind
 * @param {Unit} unit
 * @returns {Row[]}
 */
export function rowsOf(found, kind, unit) {
  /** @type {Map<string, Row>} */
  const rows = new Map();
  let sum = 0;
  for (const { name, prefix, activity, value } of entries(found, kind, unit)) {
    const key = JSON.stringify(kind === "activities" ? [activity] : [name, activity]);
    const row = rows.get(key) ?? {
      key,
      name: kind === "activities" ? activity : name,
      prefix,
      activity,
      value: 0,
      share: 0,
    };
    row.value += value;
    sum += value;
    rows.set(key, row);
  }
  return [...rows.values()].map((row) => ({ ...row, share: sum ? row.value / sum : 0 }));
}

/**
 * @param {Found} found
 * @param {KindName} kind
 * @param {Unit} unit
 */
function entries({ activities, spans }, kind, unit) {
  if (kind === "spans") {
    const ofUnit = (spans ?? []).filter((one) => one.unit === unit);
    return ofUnit.map(({ names, ...one }) => ({ ...one, name: names.join(" / "), prefix: null }));
  }
  // only tasks have a prefix; the others are named by what they are part of
  const ofUnit = activities.filter((one) => one.unit === unit);
  return ofUnit.map((one) =>
    kind === "activities" ? { ...one, prefix: null } : { ...one, name: one.name || `(${one.context})` },
  );
}
