import type { JsonValue } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import type { ToolDefinition, ToolOptions } from "./definition.ts";
import { toolPolicy } from "./policy.ts";

function definition(options: ToolOptions, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    tool_name: "weather__forecast",
    description: "",
    parameters: {},
    target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.meteo.forecast",
    after_execution: "suspend",
    options,
    ...more,
  };
}

describe("a tool's policy", () => {
  it("fills in every default", () => {
    expect(toolPolicy(definition({}))).toEqual({
      resource: "weather",
      target: "meteo",
      author_id: "tool.weather",
      placement: "service",
      effect: "once",
      attempts_max: 3,
      backoff_ms: 1_000,
      timeout_ms: 600_000,
      queue_timeout_ms: null,
      can_reconcile: false,
      error_message_limit: 1_000,
    });
  });

  it.each([
    [2_000, 2_000],
    [1e300, 604_800_000],
    [0, null],
    ["2s", null],
  ])("reads a queue time of %s as %s", (queueTimeoutMs, expected) => {
    expect(toolPolicy(definition({ queueTimeoutMs } as ToolOptions)).queue_timeout_ms).toBe(expected);
  });

  it("keeps what the definition says", () => {
    const options: ToolOptions = {
      placement: "isolated",
      effect: "idempotent",
      retry: { max_attempts: 7, backoff: 0 },
      timeoutMs: 500,
      timeout_seconds: 90,
      reconcile: true,
      errorMessageLimit: 50,
    };
    expect(toolPolicy(definition(options))).toMatchObject({
      placement: "isolated",
      effect: "idempotent",
      attempts_max: 7,
      backoff_ms: 0,
      timeout_ms: 500,
      can_reconcile: true,
      error_message_limit: 50,
    });
  });

  it.each([
    [{ timeout_seconds: 10, suspend_timeout_seconds: 120 }, 120_000],
    [{ timeout_seconds: 0.5 }, 500],
    [{ suspend_timeout_seconds: 45 }, 45_000],
    [{ timeout_seconds: -5 }, 600_000],
    [{ timeoutMs: Number.NaN, timeout_seconds: 2 }, 2_000],
    [{ timeoutMs: 1e300 }, 604_800_000],
  ])("reads the timeout of %o as %i ms", (options, timeout_ms) => {
    expect(toolPolicy(definition(options)).timeout_ms).toBe(timeout_ms);
  });

  it("takes stored nonsense for absent", () => {
    const options: Record<string, JsonValue> = {
      placement: "moon",
      effect: "twice",
      retry: { max_attempts: "many", backoff: -1 },
      timeoutMs: "10s",
      errorMessageLimit: 0,
      reconcile: "yes",
    };
    expect(toolPolicy(definition(options as ToolOptions))).toEqual(toolPolicy(definition({})));
  });

  it("names the resource of a name without parts by its target, or by itself where the target differs per call", () => {
    const subject = (target: string) => `cg.v1r4.{project_id}.{channel_id}.cmd.tool.${target}.run`;
    const policyOf = (target: string) =>
      toolPolicy(definition({}, { tool_name: "search", target_subject: subject(target) }));
    expect(policyOf("jina")).toMatchObject({ resource: "jina", target: "jina", author_id: "tool.jina" });
    expect(policyOf("w_{agent_id}")).toMatchObject({ resource: "search", author_id: "tool.search" });
  });
});
