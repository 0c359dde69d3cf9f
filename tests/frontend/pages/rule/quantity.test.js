import assert from "node:assert/strict";
import { test } from "node:test";
import { measures } from "../../../../frontend/pages/rule/quantity.js";

const QUANTITY = {
  measured: { metric: "m", labels: 'type="process"' },
  limits: { threshold: "90 %", clear_threshold: "85 %" },
  hold: "5 s",
};

/** @param {Record<string, string>} changed */
const measured = (changed) =>
  measures(QUANTITY, (name) => ({ ...QUANTITY.measured, ...QUANTITY.limits, ...changed })[name] ?? "");

test("a condition stays on its quantity whatever its limits are", () => {
  assert.equal(measured({}), true);
  assert.equal(measured({ threshold: "10 %", clear_threshold: "" }), true);
});

test("a condition with other labels is not on the quantity", () => {
  assert.equal(measured({ labels: "" }), false);
  assert.equal(
    measures(undefined, () => ""),
    false,
  );
});
