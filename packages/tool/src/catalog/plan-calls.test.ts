import {
  ARGUMENTS_BYTES_MAX,
  CALLS_PER_STEP_MAX,
  isId,
  isToolName,
  parseSubject,
  validateToolCallContent,
  validateToolResultContent,
} from "@tessera/protocol";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { RegisteredTool, ToolDefinition } from "../definition.ts";
import { INTERNAL_TOOL_DEFINITIONS } from "./internal-tools.ts";
import { type CallRequest, type PlanCallsOptions, type PlannedCall, planCalls } from "./plan-calls.ts";
import { ToolRegistry } from "./tool-registry.ts";

function definition(tool_name: string, more: Partial<ToolDefinition> = {}): ToolDefinition {
  return {
    tool_name,
    description: "Searches.",
    parameters: { type: "object", properties: { q: { type: "string" } }, required: ["q"], additionalProperties: false },
    target_subject: "cg.v1r4.{project_id}.{channel_id}.cmd.tool.web.search",
    after_execution: "suspend",
    options: {},
    ...more,
  };
}

const registry = new ToolRegistry();
const tools: readonly RegisteredTool[] = [
  {
    definition: definition("web__search", {
      after_execution: "terminate",
      options: {
        args: { fixed: { call: "{tool_call_id}" } },
        envs: { key: "WEB_KEY" },
        effect: "read",
        timeoutMs: 5_000,
        retry: { max_attempts: 2, backoff: 50 },
        reconcile: true,
      },
    }),
    code: null,
  },
  {
    definition: definition("here", { options: { placement: "inline" } }),
    code: { kind: "function", handler: () => 1 },
  },
  { definition: definition("gone", { options: { placement: "isolated", errorMessageLimit: 30 } }), code: null },
  { definition: definition("hidden"), code: null },
  ...INTERNAL_TOOL_DEFINITIONS.map((internal) => ({ definition: internal, code: null })),
];
for (const tool of tools) registry.register(tool);
const catalog = registry.catalog(null);
catalog.remove("hidden");

const vars = { project_id: "p1", channel_id: "c1", agent_id: "a1", context_box_id: "box_1" };

function plan(requests: readonly CallRequest[], more: Partial<PlanCallsOptions> = {}): readonly PlannedCall[] {
  let minted = 0;
  return planCalls(requests, { catalog, vars, mintCallId: () => `tc_${++minted}`, ...more });
}

function planOne(name: string, args: unknown, more: Partial<PlanCallsOptions> = {}): PlannedCall {
  return plan([{ id: "call_1", name, arguments: args }], more)[0] as PlannedCall;
}

function refusalOf(planned: PlannedCall): string {
  return planned.refusal === undefined ? "accepted" : String(planned.refusal.error?.code);
}

describe("a legal request", () => {
  it("becomes a draft with everything the definition says", () => {
    expect(planOne("web__search", '{"q":"x"}', { digestOf: () => "digest" })).toEqual({
      draft: {
        tool_call_id: "call_1",
        tool_name: "web__search",
        arguments: { q: "x", call: "call_1" },
        target_subject: "cg.v1r4.p1.c1.cmd.tool.web.search",
        author_id: "tool.web",
        tool_digest: "digest",
        effect: "read",
        after_execution: "terminate",
        timeout_ms: 5_000,
        attempts_max: 2,
        backoff_ms: 50,
        can_reconcile: true,
        local: false,
        metadata: {
          tool_args_fixed_applied: ["call"],
          tool_args_envs: { key: "WEB_KEY" },
          context_box_id: "box_1",
        },
      },
    });
  });

  it("is local where the tool runs in this process", () => {
    expect(planOne("here", { q: "x" }).draft.local).toBe(true);
  });

  it("of an internal tool goes to the PMO", () => {
    const { draft } = planOne("launch_principal", { profile_name: "p", instruction: "i" });
    expect(draft).toMatchObject({
      target_subject: "cg.v1r4.p1.c1.cmd.sys.pmo.internal.launch_principal",
      author_id: "sys.pmo",
      local: false,
    });
  });

  it("may leave its arguments out", () => {
    const open = new ToolRegistry();
    open.register({ definition: definition("open", { parameters: {} }), code: null });
    for (const args of [undefined, "", "  ", "{}", {}]) {
      const planned = planOne("open", args, { catalog: open.catalog() });
      expect([refusalOf(planned), planned.draft.arguments]).toEqual(["accepted", {}]);
    }
  });
});

describe("arguments are read, never repaired", () => {
  it.each<[string, unknown]>([
    ["not JSON", "q=x"],
    ["truncated JSON", '{"q":"x'],
    ["two values", '{"q":"x"}{}'],
    ["JSON in a string", '"{\\"q\\":\\"x\\"}"'],
    ["single quotes", "{'q':'x'}"],
    ["a duplicate key", '{"q":"x","q":"y"}'],
    ["2 MB", `{"q":"${"x".repeat(2_000_000)}"}`],
    ["a number", 7],
    ["null", null],
    ["a cycle", cyclic()],
    ["2^53 + 1", '{"q":9007199254740993}'],
    ["1e400", '{"q":1e400}'],
  ])("%s", (_, args) => {
    const planned = planOne("here", args);
    expect(refusalOf(planned)).toBe("bad_request");
    expect(planned.refusal?.error?.detail).toMatchObject({ code: "E_TOOL_INVALID_ARGS" });
    expectCommittable(planned);
  });

  it("the card keeps the text that was no JSON, cut to the limit of arguments", () => {
    expect(planOne("here", "q=x").draft.arguments).toEqual({ _raw: "q=x" });
    const { draft } = planOne("here", `\u0000\ud800"${"é\n".repeat(2_000_000)}`);
    const bytes = Buffer.byteLength(JSON.stringify(draft.arguments));
    expect(bytes).toBeLessThanOrEqual(ARGUMENTS_BYTES_MAX);
    expect(bytes).toBeGreaterThan(ARGUMENTS_BYTES_MAX - 1_000);
    expect(String(draft.arguments._raw).isWellFormed()).toBe(true);
  });

  it("the card of refused arguments does not keep what was sent for an environment argument", () => {
    expect(planOne("web__search", { q: 1, key: "guess" }).draft.arguments).toEqual({ q: 1 });
  });
});

describe("a tool that the step does not offer", () => {
  it.each(["missing", "hidden", "toString", "__proto__", "", "a b", "x".repeat(300), "ｓearch", "a__b__c"])(
    "%j",
    (name) => {
      const planned = planOne(name, { q: "x" });
      expect(refusalOf(planned)).toBe("tool_not_in_catalog");
      expect(planned.refusal?.error?.detail).toMatchObject({
        code: "E_TOOL_NOT_IN_CATALOG",
        suggestion: expect.stringContaining("web__search"),
      });
      expectCommittable(planned);
    },
  );

  it("one that was disabled after the catalog was made", () => {
    const changing = new ToolRegistry();
    changing.register({ definition: definition("pinned"), code: null });
    const offered = changing.catalog();
    changing.unregister("pinned");
    expect(refusalOf(planOne("pinned", { q: "x" }, { catalog: offered }))).toBe("tool_not_in_catalog");
  });
});

describe("the order of the checks", () => {
  it("is catalog, arguments, handler", () => {
    expect(refusalOf(planOne("missing", "no json"))).toBe("tool_not_in_catalog");
    expect(refusalOf(planOne("gone", "no json"))).toBe("bad_request");
    const planned = planOne("gone", { q: "x" });
    expect(refusalOf(planned)).toBe("not_found");
    expect(planned.refusal?.error?.detail).toMatchObject({ code: "E_TOOL_NOT_FOUND" });
    expect(refusalOf(planOne("gone", { q: "x" }, { isHosted: () => true }))).toBe("accepted");
  });
});

describe("a refusal", () => {
  it("does not end the turn, even of a tool that would", () => {
    const planned = planOne("web__search", {});
    expect([planned.draft.after_execution, planned.refusal?.after_execution]).toEqual(["suspend", "suspend"]);
  });

  it("keeps to the tool's limit for messages", () => {
    expect(planOne("gone", {}).refusal?.error?.message).toHaveLength(30);
  });

  it("says to the model what to correct", () => {
    const { refusal } = planOne("here", { p: 1 });
    expect(refusal?.error).toEqual({
      code: "bad_request",
      message: 'the arguments of here are not valid: "q" is required; "p" is not allowed',
      source: "tool",
      detail: { code: "E_TOOL_INVALID_ARGS", suggestion: "Send one JSON object. Required: q. Allowed: q." },
    });
  });
});

describe("call ids", () => {
  it("the second of the same, an empty one and one of 300 characters are minted anew", () => {
    const ids = ["same", "same", "", "x".repeat(300), "a.b", "__proto__", undefined, "ok"];
    const requests = ids.map((id) => ({ ...(id === undefined ? {} : { id }), name: "here", arguments: { q: "x" } }));
    expect(plan(requests).map(({ draft }) => draft.tool_call_id)).toEqual([
      "same",
      "tc_1",
      "tc_2",
      "tc_3",
      "tc_4",
      "tc_5",
      "tc_6",
      "ok",
    ]);
  });

  it("one that an earlier call has is minted anew", () => {
    const planned = planOne("here", { q: "x" }, { isCallIdUsed: (id) => id === "call_1" });
    expect(planned.draft.tool_call_id).toBe("tc_1");
  });
});

it("of 200 calls the first 64 run and the rest are answered so", () => {
  const planned = plan(Array.from({ length: 200 }, () => ({ name: "here", arguments: { q: "x" } })));
  expect(planned.slice(0, CALLS_PER_STEP_MAX).map(refusalOf)).toEqual(Array(CALLS_PER_STEP_MAX).fill("accepted"));
  expect(planned.slice(CALLS_PER_STEP_MAX).map(refusalOf)).toEqual(
    Array(200 - CALLS_PER_STEP_MAX).fill("too_many_calls"),
  );
  planned.forEach(expectCommittable);
});

it("what fork_join cannot do is refused before the call is made", () => {
  const task = { target_strategy: "reuse", target_ref: "a1", instruction: "i" };
  expect(refusalOf(planOne("fork_join", { tasks: [task] }))).toBe("bad_request");
  expect(refusalOf(planOne("fork_join", { tasks: [{ ...task, target_ref: "a2" }] }))).toBe("accepted");
});

it("whatever a model writes, every call can be committed", () => {
  const name = fc.oneof(fc.constantFrom(...tools.map((tool) => tool.definition.tool_name)), fc.string());
  const args = fc.oneof(
    fc.json(),
    fc.string({ unit: "binary" }),
    fc.jsonValue(),
    fc.dictionary(fc.string(), fc.anything()),
  );
  const request = fc.record({ id: fc.oneof(fc.string(), fc.constantFrom("a", "b")), name, arguments: args });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 8 }), (requests) => {
      const planned = plan(requests);
      planned.forEach(expectCommittable);
      expect(new Set(planned.map(({ draft }) => draft.tool_call_id)).size).toBe(requests.length);
    }),
    { numRuns: 300 },
  );
});

function expectCommittable({ draft, refusal }: PlannedCall): void {
  expect(isId(draft.tool_call_id)).toBe(true);
  expect(isToolName(draft.tool_name)).toBe(true);
  expect(parseSubject(draft.target_subject)).not.toBeNull();
  expect(draft.author_id).toMatch(/^(?:tool|sys)\./);
  const { tool_name, arguments: args, target_subject } = draft;
  validateToolCallContent({ tool_name, arguments: args, status: "called", target_subject });
  expect(Buffer.byteLength(JSON.stringify(args))).toBeLessThanOrEqual(ARGUMENTS_BYTES_MAX);
  if (refusal === undefined) return;
  validateToolResultContent(refusal);
  expect([refusal.status, draft.local]).toEqual(["failed", true]);
}

function cyclic(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

it("a name that no text can be made of is refused like any other that is not offered", () => {
  for (const name of [Object.create(null), { toString: 1 }, Symbol("s"), 5, null]) {
    expect(refusalOf(planOne(name as string, {}))).toBe("tool_not_in_catalog");
  }
});
