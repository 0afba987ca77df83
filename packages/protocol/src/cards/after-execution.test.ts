import { expect, test } from "vitest";
import { effectiveAfterExecution, readCgControl, stripCgControl } from "./after-execution.ts";

const control = (after_execution: unknown) => ({ __cg_control: { after_execution } });

test.each([
  [
    "the control of the result wins over everything",
    { result: control("terminate"), explicit: "suspend", definition: "suspend", command: "suspend" },
    "terminate",
  ],
  ["then the explicit value", { explicit: "terminate", definition: "suspend", command: "suspend" }, "terminate"],
  ["then the definition", { definition: "terminate", command: "suspend" }, "terminate"],
  ["then the command", { command: "terminate" }, "terminate"],
  ["then suspend", {}, "suspend"],
  [
    "values that are not valid are passed over",
    { result: control("loop"), explicit: "maybe", definition: 5, command: "terminate" },
    "terminate",
  ],
  ["a control deeper in the result is data", { result: { data: control("terminate") } }, "suspend"],
])("%s", (_, sources, expected) => {
  expect(effectiveAfterExecution(sources)).toBe(expected);
});

test.each([
  [{}, "absent"],
  [null, "absent"],
  [[], "absent"],
  [{ __cg_control: {} }, "absent"],
  [{ __cg_control: "terminate" }, "invalid"],
  [control("loop"), "invalid"],
  [control(null), "invalid"],
  [control("suspend"), "valid"],
])("the control of %j is %s", (result, kind) => {
  expect(readCgControl(result).kind).toBe(kind);
});

test("a third party's body loses the key at the top and nothing else", () => {
  expect(stripCgControl({ a: 1, ...control("terminate") })).toEqual({ a: 1 });
  expect(stripCgControl("text")).toBe("text");
  expect(stripCgControl([control("terminate")])).toEqual([control("terminate")]);
});
