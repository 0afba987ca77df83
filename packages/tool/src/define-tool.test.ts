import { describe, expect, expectTypeOf, it } from "vitest";
import { mistakeOf } from "../test/mistake.ts";
import { defineTool } from "./define-tool.ts";
import type { RegisteredTool } from "./definition.ts";

const handler = () => null;

describe("defineTool", () => {
  it("keeps a queue time where an executor has to come, and nothing where none was given", () => {
    const options = (more: object) =>
      defineTool({ name: "a__b", placement: "edge", handler, ...more }).definition.options;
    expect(options({ queueTimeoutMs: 2_000 })).toEqual({ placement: "edge", queueTimeoutMs: 2_000 });
    expect(options({})).toEqual({ placement: "edge" });
  });

  it("makes the record that an upload would become", () => {
    const tool = defineTool({
      name: "weather__forecast",
      description: "The weather of tomorrow",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      effect: "read",
      retry: { maxAttempts: 5, backoffMs: 250 },
      timeoutMs: 2_000,
      afterExecution: "terminate",
      errorMessageLimit: 200,
      args: { defaults: { days: 1 }, fixed: { unit: "C" } },
      envs: { key: "WEATHER_KEY" },
      reconcile: () => ({ outcome: "unknown" }),
      handler,
    });
    expect(JSON.parse(JSON.stringify(tool.definition))).toEqual({
      tool_name: "weather__forecast",
      description: "The weather of tomorrow",
      parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.weather.forecast",
      after_execution: "terminate",
      options: {
        args: { defaults: { days: 1 }, fixed: { unit: "C" } },
        envs: { key: "WEATHER_KEY" },
        effect: "read",
        retry: { max_attempts: 5, backoff: 250 },
        timeoutMs: 2_000,
        errorMessageLimit: 200,
        placement: "inline",
        reconcile: true,
      },
    });
    expect(tool.name).toBe("weather__forecast");
    expect(tool.code.kind).toBe("function");
    expect(tool.code.handler).toBe(handler);
    expect(tool.handler).toBe(handler);
    expectTypeOf(tool).toExtend<RegisteredTool>();
  });

  it("needs no more than a name and a handler", () => {
    const { definition, code } = defineTool({ name: "forecast", handler });
    expect(definition).toEqual({
      tool_name: "forecast",
      description: "",
      parameters: {},
      target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.forecast.forecast",
      after_execution: "suspend",
      options: { placement: "inline" },
    });
    expect(Object.keys(code)).toEqual(["kind", "handler"]);
  });

  it("addresses its host, by the resource's name or by the target", () => {
    const subjectOf = (target?: string) =>
      defineTool({ name: "weather__forecast", placement: "service", ...(target ? { target } : {}), handler }).definition
        .target_subject;
    expect(subjectOf()).toBe("cg.v1r4.{project_id}.{channel_id}.cmd.tool.weather.forecast");
    expect(subjectOf("meteo")).toBe("cg.v1r4.{project_id}.{channel_id}.cmd.tool.meteo.forecast");
  });

  it("is frozen through and through, and shares nothing with what it was given", () => {
    const parameters = { type: "object", properties: { a: { type: "string", enum: ["x"] } } };
    const fixed = { list: [1] };
    const tool = defineTool({ name: "t", parameters, args: { fixed }, handler });
    parameters.properties.a.enum.push("y");
    fixed.list.push(2);
    expect(JSON.stringify(tool.definition.parameters)).toContain('"enum":["x"]');
    expect(JSON.stringify(tool.definition.options.args)).toBe('{"fixed":{"list":[1]}}');
    expect(Object.isFrozen(parameters)).toBe(false);
    const frozen = (value: unknown): boolean =>
      typeof value !== "object" ||
      value === null ||
      (Object.isFrozen(value) && Object.values(value).every((member) => frozen(member)));
    expect(frozen(tool)).toBe(true);
  });

  it.each([
    ["a name with a space", { name: "my tool" }, "invalid_name", "my tool"],
    ["three parts", { name: "a__b__c" }, "invalid_name", "a__b__c"],
    ["an empty part", { name: "a__" }, "invalid_name", "a__"],
    ["no name", { name: undefined }, "invalid_name", "undefined"],
    ["a name of Tessera", { name: "fork_join" }, "reserved_name", "fork_join"],
    ["a name of Tessera in capitals", { name: "Submit_Result" }, "reserved_name", "Submit_Result"],
    ["an unknown effect", { effect: "twice" }, "bad_request", "effect of tool t must be one of read, idempotent, once"],
    ["an unknown placement", { placement: "moon" }, "bad_request", "but is moon"],
    ["an unknown after_execution", { afterExecution: "loop" }, "bad_request", "suspend, terminate"],
    ["a timeout in words", { timeoutMs: "10s" }, "bad_request", "but is 10s"],
    ["no time at all", { timeoutMs: 0 }, "bad_request", "from 1 to"],
    ["a queue time of a tool that waits for no executor", { queueTimeoutMs: 5 }, "bad_request", "not inline"],
    ["a policy with a typo", { delegationPolicy: { targetProfile: [] } }, "bad_request", "has no field"],
    ["a queue time in words", { placement: "edge", queueTimeoutMs: "5s" }, "bad_request", "but is 5s"],
    ["more queue time than a week", { placement: "edge", queueTimeoutMs: 604_800_001 }, "bad_request", "from 1 to"],
    ["an endless timeout", { timeoutMs: Number.POSITIVE_INFINITY }, "bad_request", "but is Infinity"],
    ["half an attempt", { retry: { maxAttempts: 0.5 } }, "bad_request", "retry.maxAttempts"],
    ["a negative backoff", { retry: { backoffMs: -1 } }, "bad_request", "retry.backoffMs"],
    ["a huge message limit", { errorMessageLimit: 1e9 }, "bad_request", "errorMessageLimit"],
    ["a long description", { description: "x".repeat(5_000) }, "bad_request", "description"],
    ["no handler", { handler: undefined }, "bad_request", "handler of tool t must be a function"],
    ["a reconcile that is no function", { reconcile: true }, "bad_request", "reconcile"],
    ["a target of an inline tool", { target: "x" }, "bad_request", "placements service and edge"],
    ["a target that is no token", { placement: "edge", target: "a.b" }, "invalid_target_subject", "a.b"],
    ["an argument from two sources", { args: { fixed: { k: 1 } }, envs: { k: "K" } }, "conflicting_arg", "argument k"],
    ["a default that is not JSON", { args: { defaults: { at: new Date(0) } } }, "schema_invalid", "/defaults/at"],
    ["parameters of a string", { parameters: { type: "string" } }, "schema_invalid", 'type "string"'],
    ["parameters that are not JSON", { parameters: { type: "object", x: 1n } }, "schema_invalid", "/x"],
  ])("refuses %s", (_, spec, code, text) => {
    const mistake = mistakeOf(() => defineTool({ name: "t", handler, ...spec } as never));
    expect(mistake).toEqual({ code, message: expect.stringContaining(text) });
  });

  it("does not repeat what stands where the name of a variable belongs", () => {
    const mistake = mistakeOf(() => defineTool({ name: "t", envs: { key: "s3cr3t-value!" }, handler }));
    expect(mistake.code).toBe("bad_request");
    expect(mistake.message).toContain("envs.key");
    expect(mistake.message).not.toContain("s3cr3t");
  });
});
