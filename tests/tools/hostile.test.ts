// Handlers that do the worst they can, end to end: the turn ends with the result that is documented for it, a call of the
// same tool and one of another succeed meanwhile, and this process, which hosts them all, lives.
//
// Every behaviour has a module of its own, because processes that keep dying are started more slowly
// (docs/protocol/tool-api.md#processes), and is called as `read` and, where that makes a difference, as `once`: only the second
// may have done something unknown.

import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const TIMEOUT_MS = 1_000;
/** Long enough to fill a heap, or a pipe, on a busy machine. */
const FILLING_MS = 15_000;

interface Expected {
  readonly status: string;
  readonly error: object;
}
interface Behaviour {
  readonly code: string;
  readonly timeoutMs?: number;
  readonly read: Expected;
  /** Where it differs. */
  readonly once?: Expected;
}

const timedOut = {
  read: { status: "timeout", error: { code: "tool_timeout" } },
  once: { status: "timeout", error: { code: "outcome_unknown", detail: { reason: "tool_timeout" } } },
};
const crashed = (detail: object) => ({
  read: { status: "failed", error: { code: "tool_crashed", retryable: true, detail } },
  once: { status: "failed", error: { code: "outcome_unknown", detail: { ...detail, reason: "tool_crashed" } } },
});
/** The handler has answered, so everything is known, whatever its effect. */
const failed = (error: object) => ({ read: { status: "failed", error } });

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  "loops for ever": { code: "for (;;) {}", ...timedOut },
  "loops for ever, giving way only to promises": { code: "for (;;) await null;", ...timedOut },
  "never settles": { code: "await new Promise(() => {});", ...timedOut },
  "allocates without end": {
    timeoutMs: FILLING_MS,
    code: "const kept: unknown[] = []; for (;;) kept.push(new Array(100_000).fill({}).map(() => ({ x: {} })));",
    ...crashed({}),
  },
  "allocates without end outside of its heap": {
    timeoutMs: FILLING_MS,
    code: "const kept: unknown[] = []; for (;;) { kept.push(Buffer.alloc(16 * 1024 * 1024, 1)); await new Promise(setImmediate); }",
    ...crashed({}),
  },
  "calls process.exit(0)": { code: "process.exit(0);", ...crashed({ exit_code: 0 }) },
  "calls process.exit(1)": { code: "process.exit(1);", ...crashed({ exit_code: 1 }) },
  "kills itself": { code: 'process.kill(process.pid, "SIGKILL"); for (;;) {}', ...crashed({ signal: "SIGKILL" }) },
  "throws where no caller can catch it": {
    code: 'setImmediate(() => { throw new Error("from nowhere"); }); await new Promise(() => {});',
    ...crashed({}),
  },
  "throws a string": {
    code: 'throw "just words";',
    ...failed({
      code: "internal_error",
      message: "Unknown tool execution error: just words",
      detail: { code: "E_TOOL" },
    }),
  },
  "returns a cycle": {
    code: "const it: Record<string, unknown> = {}; it.it = it; return it;",
    ...failed({ code: "result_not_serializable" }),
  },
  "returns 2 MiB": { code: 'return { text: "x".repeat(2 * 1024 * 1024) };', ...failed({ code: "payload_too_large" }) },
  "returns what is nested 10,000 deep": {
    code: "let it: unknown = 1; for (let n = 0; n < 10_000; n += 1) it = { it }; return it;",
    ...failed({ code: "too_deep" }),
  },
  "prints 1 GB": {
    timeoutMs: FILLING_MS,
    code: 'const line = "x".repeat(1024 * 1024) + "\\n"; for (let n = 0; n < 1024; n += 1) { process.stdout.write(line); await new Promise(setImmediate); }',
    read: { status: "failed", error: { code: "payload_too_large" } },
    once: { status: "failed", error: { code: "outcome_unknown", detail: { reason: "output_too_large" } } },
  },
};

const NAMES = Object.keys(BEHAVIOURS);
const resourceOf = (name: string) => `bad${NAMES.indexOf(name)}`;
const RESOURCE = (resource: string, placement: string, timeoutMs = TIMEOUT_MS) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ${resource} }
spec:
  entry: ./${resource}.ts
  placement: ${placement}
  exports:
    - { name: read, effect: read, timeoutMs: ${timeoutMs}, retry: { max_attempts: 1 } }
    - { name: once, effect: once, timeoutMs: ${timeoutMs}, retry: { max_attempts: 1 } }
`;
const MODULE = (code: string) => `
import type { ToolHandler } from "@tessera/tool";
const handler: ToolHandler = async (_, input): Promise<any> => {
  if (input.good === true) return { good: true };
  ${code}
};
export const handlers = { read: handler, once: handler };
`;

describe.each(["isolated", "service"] as const)("in the placement %s, a handler that", (placement) => {
  let world: ToolWorld;
  let hosted: HostedProject;

  beforeAll(async () => {
    world = await ToolWorld.open("pglite");
    const project = world.newProject();
    const bad = NAMES.map((name) => ({ resource: resourceOf(name), ...(BEHAVIOURS[name] as Behaviour) }));
    const all: readonly { resource: string; code: string; timeoutMs?: number }[] = [
      ...bad,
      { resource: "kind", code: "" },
    ];
    const bundle = world.bundle({
      "tessera.yaml": all.map(({ resource, timeoutMs }) => RESOURCE(resource, placement, timeoutMs)).join("---"),
      ...Object.fromEntries(all.map(({ resource, code }) => [`${resource}.ts`, MODULE(code)])),
    });
    hosted = await world.host({ project, bundle });
  });
  afterAll(() => world.close());

  it.each(NAMES)("%s harms no other call", async (name) => {
    const { read, once } = BEHAVIOURS[name] as Behaviour;
    const resource = resourceOf(name);
    const [asRead, asOnce, sameTool, otherTool] = await Promise.all([
      world.call(hosted, `${resource}__read`, {}),
      once === undefined ? null : world.call(hosted, `${resource}__once`, {}),
      world.call(hosted, `${resource}__read`, { good: true }),
      world.call(hosted, "kind__read", { good: true }),
    ]);
    expect(asRead).toMatchObject(read);
    if (once !== undefined) expect(asOnce).toMatchObject(once);
    for (const answer of [sameTool, otherTool])
      expect(answer).toMatchObject({ status: "success", result: { good: true } });
    const cards = await world.cardsOf(hosted.project, asRead.agentTurnId);
    const card = cards.find(({ type }) => type === "tool.result");
    expect(card).toMatchObject({ author_id: `tool.${resource}`, content: read });
  });

  it("left nothing behind: the store is sound and no process of a tool runs on", async () => {
    await world.expectSafe();
    for (const service of hosted.host.services) await waitFor(() => service.running === 0, { what: "no run" });
    await hosted.host.close({ graceMs: 0 });
  });
});
