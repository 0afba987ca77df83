import { expect, test } from "vitest";
import { defaultDurable } from "./streams.ts";

test("a default durable spells out queue and subject", () => {
  expect(defaultDurable("q", "cg.v1r4.*.*.cmd.tool.t.>")).toBe("q_cg_v1r4_ALL_ALL_cmd_tool_t_REST");
});

test("a default durable that would be too long keeps the queue and a hash", () => {
  const long = defaultDurable("tool_service", `cg.v1r4.*.*.cmd.tool.${"x".repeat(60)}.*`);
  expect(long).toMatch(/^tool_service_[0-9a-f]{8}$/);
  expect(defaultDurable("tool_service", `cg.v1r4.*.*.cmd.tool.${"y".repeat(60)}.*`)).not.toBe(long);
  expect(defaultDurable("q".repeat(100), "a").length).toBeLessThanOrEqual(64);
});
