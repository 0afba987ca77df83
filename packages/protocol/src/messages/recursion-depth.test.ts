import { expect, test } from "vitest";
import { parseRecursionDepth, requireDepthAllowed, requireSameDepth, spawnedDepth } from "./recursion-depth.ts";

test("spawned turns descend, stay or start anew", () => {
  expect([spawnedDepth(3, "descend"), spawnedDepth(3, "peer"), spawnedDepth(3, "root")]).toEqual([4, 3, 0]);
});

test.each([-1, 1.5, Number.NaN, "-1", "1e1", null, {}])("%s is no depth", (value) => {
  expect(() => parseRecursionDepth(value)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
});

test("nineteen is allowed and twenty is not", () => {
  expect(() => requireDepthAllowed(19)).not.toThrow();
  for (const depth of [20, 1e9]) {
    expect(() => requireDepthAllowed(depth)).toThrow(expect.objectContaining({ code: "recursion_depth_exceeded" }));
  }
});

test("a response has the depth of its request, and there is a request", () => {
  expect(() => requireSameDepth(2, 2)).not.toThrow();
  for (const request of [1, null]) {
    expect(() => requireSameDepth(request, 2)).toThrow(expect.objectContaining({ code: "protocol_violation" }));
  }
});
