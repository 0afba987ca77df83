import { expect, test } from "vitest";
import { parseRecursionDepth, requireDepthAllowed } from "./recursion-depth.ts";

test.each([-1, 1.5, Number.NaN, "-1", "1e1", null, {}])("%s is no depth", (value) => {
  expect(() => parseRecursionDepth(value)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
});

test("nineteen is allowed and twenty is not", () => {
  expect(() => requireDepthAllowed(19)).not.toThrow();
  for (const depth of [20, 1e9]) {
    expect(() => requireDepthAllowed(depth)).toThrow(expect.objectContaining({ code: "recursion_depth_exceeded" }));
  }
});
