// The choice of a known quantity in a condition: it fills in the other fields. Changing what is measured leaves it.

/** @typedef {Record<string, string>} Fields the texts of fields of a condition */
/**
 * QuantityFields in observatory/alerts/admin/quantity_choice.py.
 * @typedef {{measured: Fields, limits: Fields, hold: string}} Quantity
 */

/** @returns {Record<string, Quantity>} by key, as the page has them */
export function readQuantities() {
  return JSON.parse(document.getElementById("quantity-fields")?.textContent ?? "{}");
}

/**
 * True if the fields are those of the quantity, whatever the limits are.
 * @param {Quantity|undefined} quantity
 * @param {(name: string) => string} value the value of a field
 */
export function measures(quantity, value) {
  return (
    quantity !== undefined && Object.entries(quantity.measured).every(([name, text]) => value(name) === text)
  );
}
