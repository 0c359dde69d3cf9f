import assert from "node:assert/strict";

/**
 * Asserts that numbers are nearly the expected ones.
 * @param {number|number[]} found
 * @param {number|number[]} expected
 * @param {number} tolerance
 */
export function near(found, expected, tolerance = 1e-3) {
  const [numbers, wanted] = [[found].flat(), [expected].flat()];
  assert.equal(numbers.length, wanted.length);
  numbers.forEach((number, place) => {
    assert.ok(Math.abs(number - wanted[place]) <= tolerance, `${numbers} is not about ${wanted}`);
  });
}
