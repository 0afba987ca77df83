import { expect, it } from "vitest";
import { nearestNames, nearName, unknownField } from "./nearest-names.ts";

const FIELDS = ["system", "systemRef", "after_execution", "maxSteps", "envs"];

it.each([
  ["systm", "system"],
  ["sytsem", "system"],
  ["afterExecution", "after_execution"],
  ["max-steps", "maxSteps"],
  ["env", "envs"],
])("%s is nearly %s", (written, meant) => {
  expect(nearName(written, FIELDS)).toBe(meant);
  expect(unknownField(written, FIELDS)).toContain(`did you mean \`${meant}\`?`);
});

it("a name that resembles none is answered with all there are, and is never repeated at length", () => {
  expect(unknownField("colour", ["b", "a"])).toBe('"colour" is not a field here; the fields are a, b');
  expect(unknownField("x".repeat(1_000_000), ["a"])).toHaveLength(
    '"" is not a field here; the fields are a'.length + 81,
  );
});

it("names are ordered by how much they resemble one", () => {
  expect(nearestNames("sistem", FIELDS).slice(0, 2)).toEqual(["system", "systemRef"]);
});
