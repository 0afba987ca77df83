import { type JsonObject, subjectFamily, TesseraError } from "@tessera/protocol";
import { describe, expect, it } from "vitest";
import { gateArguments } from "../arguments/gate-arguments.ts";
import type { ToolDefinition } from "../definition.ts";
import { RESERVED_TOOL_NAMES } from "../reserved-names.ts";
import {
  checkInternalArguments,
  INTERNAL_TOOL_DEFINITIONS,
  internalPolicy,
  internalSubject,
} from "./internal-tools.ts";

const vars = { project_id: "p1", channel_id: "c1", agent_id: "me" };

function refusalOf(name: string, given: unknown): string {
  const definition = INTERNAL_TOOL_DEFINITIONS.find(({ tool_name }) => tool_name === name) as ToolDefinition;
  try {
    const args = gateArguments(definition, given, vars).arguments;
    checkInternalArguments(name, args, vars);
    return "accepted";
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    return error.code;
  }
}

const task = { target_strategy: "new", target_ref: "writer", instruction: "Write." };
const tasks = (count: number): JsonObject[] => Array.from({ length: count }, () => ({ ...task }));
const reuse = (target_ref: string): JsonObject => ({ ...task, target_strategy: "reuse", target_ref });

describe("fork_join", () => {
  it.each<[string, unknown]>([
    ["no tasks", { tasks: [] }],
    ["51 tasks", { tasks: tasks(51) }],
    ["no task list", {}],
    ["the same reuse target twice", { tasks: [reuse("a"), reuse("b"), reuse("a")] }],
    ["itself as target", { tasks: [reuse("me")] }],
    ["deadline 0", { tasks: tasks(1), deadline_seconds: 0 }],
    ["deadline -1", { tasks: tasks(1), deadline_seconds: -1 }],
    ["deadline NaN", { tasks: tasks(1), deadline_seconds: Number.NaN }],
    ["deadline 10^9", { tasks: tasks(1), deadline_seconds: 1e9 }],
    ["deadline as text", { tasks: tasks(1), deadline_seconds: "900" }],
    ["an unknown field", { tasks: tasks(1), extra: 1 }],
    ["an unknown field of a task", { tasks: [{ ...task, extra: 1 }] }],
    ["a task without strategy", { tasks: [{ target_ref: "a", instruction: "x" }] }],
    ["an unknown strategy", { tasks: [{ ...task, target_strategy: "borrow" }] }],
    ["an empty instruction", { tasks: [{ ...task, instruction: "" }] }],
  ])("%s is a bad request", (_, given) => {
    expect(refusalOf("fork_join", given)).toBe("bad_request");
  });

  it.each<[string, unknown]>([
    ["50 tasks", { tasks: tasks(50) }],
    [
      "several clones of one agent",
      { tasks: [1, 2].map(() => ({ ...task, target_strategy: "clone", target_ref: "me" })) },
    ],
    ["a short deadline", { tasks: [reuse("a"), reuse("b")], deadline_seconds: 0.5, fail_fast: true }],
  ])("%s is accepted", (_, given) => {
    expect(refusalOf("fork_join", given)).toBe("accepted");
  });

  it("the call outlives the batch's own deadline", () => {
    const forkJoin = INTERNAL_TOOL_DEFINITIONS.find(({ tool_name }) => tool_name === "fork_join") as ToolDefinition;
    expect(internalPolicy(forkJoin, { deadline_seconds: 60 }).timeout_ms).toBeGreaterThan(60_000);
    expect(internalPolicy(forkJoin, {}).timeout_ms).toBeGreaterThan(900_000);
  });
});

it.each<[string, unknown, unknown]>([
  ["delegate_async", task, { ...task, target_strategy: undefined }],
  ["launch_principal", { profile_name: "p", instruction: "i" }, { profile_name: "p" }],
  ["ask_expert", { expert_profile: "p", question: "q" }, { expert_profile: "p", question: "q", include_history: "no" }],
  [
    "provision_agent",
    { action: "ensure", agent_id: "a", tags: ["x"], metadata: { k: [1] } },
    { action: "drop", agent_id: "a" },
  ],
])("%s accepts what the reference lists and refuses the rest", (name, good, bad) => {
  expect([refusalOf(name, good), refusalOf(name, bad), refusalOf(name, { ...(good as object), extra: 1 })]).toEqual([
    "accepted",
    "bad_request",
    "bad_request",
  ]);
});

it("their names are reserved and their subjects are the PMO's", () => {
  for (const { tool_name } of INTERNAL_TOOL_DEFINITIONS) {
    expect(RESERVED_TOOL_NAMES).toContain(tool_name);
    const subject = internalSubject(tool_name, vars);
    expect(subject).toBe(`cg.v1r4.p1.c1.cmd.sys.pmo.internal.${tool_name}`);
    expect(subjectFamily(subject)).toBe("pmo_command");
  }
});
