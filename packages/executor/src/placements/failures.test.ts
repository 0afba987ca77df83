// Why a tool failed, for its author: the same in both placements of this process, at the author's own line, without
// secrets, in the log once, reported to the host, and never in the content of the card.

import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { STACK_CHARS_MAX } from "@tessera/protocol";
import type { RegisteredTool, ToolLogEntry, ToolOptions } from "@tessera/tool";
import { foreignCode } from "@tessera/tool/run";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { invocationForTest } from "../../test/invocation.ts";
import { loadToolModule } from "../loader/tool-module.ts";
import { openWorkspaces, type Workspaces } from "../workspace/workspaces.ts";
import { createIsolatedHost, type IsolatedHost } from "./isolated/isolated-host.ts";
import { createToolRunner } from "./tool-runner.ts";

const SECRET = "c4nary/+s3cret=value&more";
/** TypeScript as people write it: types that go, over several lines, before the line that fails. */
const MODULE = `import { ToolError, type ToolContext } from "@tessera/tool";
import { connect } from "driver";

interface Order {
  readonly id: string;
  readonly customer?: { readonly name: string };
}

enum State { Open, Closed }

export const handlers = {
  async find(
    _ctx: ToolContext,
    input: { readonly id: string },
  ): Promise<unknown> {
    const order: Order = { id: input.id };
    await Promise.resolve();
    return nameOf(order);
  },
  now: (): unknown => nameOf({ id: "o1" }),
  text: () => { throw "out of stock"; },
  object: () => { throw { code: 7, why: "odd" }; },
  causes: () => { throw new Error("no stock", { cause: new TypeError("fetch failed", { cause: new Error("ECONNREFUSED") }) }); },
  several: () => Promise.any([Promise.reject(new RangeError("one")), Promise.reject(new Error("two"))]),
  meant: () => { throw new ToolError("no such city", { code: "E_CITY" }); },
  library: () => connect(),
  leak: (_ctx: ToolContext, { key }: { key: string }) => { throw new Error("cannot log in with " + key, { cause: "Bearer " + key }); },
  leakCut: (_ctx: ToolContext, { key }: { key: string }) => { throw new Error("x".repeat(3_985 - "Error: ".length - 12) + key); },
  stray: () => new Promise(() => { setTimeout(() => { throw new RangeError("left behind"); }, 5); }),
  fine: () => State.Open,
};

function nameOf(order: Order): string {
  return order.customer!.name;
}
`;
const LINE_OF_MISTAKE = MODULE.split("\n").findIndex((line) => line.includes("order.customer!.name")) + 1;

let root: string;
let entry: string;
let isolated: IsolatedHost;
let workspaces: Workspaces;
let functions: Awaited<ReturnType<typeof loadToolModule>>["handlers"];

beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "tessera-failures-")));
  entry = join(root, "orders.ts");
  await writeFile(entry, MODULE);
  // A library as its author built it, with a map to what was written.
  const library = join(root, "node_modules/driver");
  await mkdir(join(library, "dist"), { recursive: true });
  await writeFile(
    join(library, "package.json"),
    '{"name":"driver","version":"1.0.0","type":"module","exports":"./dist/index.js"}',
  );
  const map = { version: 3, sources: ["../src/connect.ts"], names: [], mappings: ";AAKE,QAAQ" };
  await writeFile(join(library, "dist/index.js.map"), JSON.stringify(map));
  await writeFile(
    join(library, "dist/index.js"),
    'export function connect() {\n  throw new Error("no route");\n}\n//# sourceMappingURL=index.js.map\n',
  );
  isolated = createIsolatedHost({ clock: systemClock, onWarning: () => {} });
  workspaces = await openWorkspaces(join(root, "workspaces"));
  functions = (await loadToolModule(entry, { root, onWarning: () => {} })).handlers;
});
afterAll(async () => {
  await isolated.close();
  await rm(root, { recursive: true, force: true });
});

type Placement = "inline" | "isolated";
const PLACEMENTS: readonly Placement[] = ["inline", "isolated"];

function toolOf(placement: Placement, name: string, options: ToolOptions = {}): RegisteredTool {
  const handler = functions.get(name);
  if (handler === undefined) throw new Error(`the module has no ${name}`);
  return {
    definition: {
      tool_name: `orders__${name}`,
      description: "",
      parameters: {},
      target_subject: `cg.v1r4.{project_id}.{channel_id}.cmd.tool.orders.${name}`,
      after_execution: "suspend",
      options: { effect: "read", ...options },
    },
    code: placement === "inline" ? { kind: "function", handler } : { kind: "module", entry, export_name: name },
  };
}

async function run(tool: RegisteredTool, { env = {}, isLogged = true } = {}) {
  const logs: ToolLogEntry[] = [];
  const warnings: string[] = [];
  const failures: string[] = [];
  const runner = createToolRunner({
    resolve: () => tool,
    isolated,
    workspaces,
    environment: { env },
    clock: systemClock,
    onWarning: (warning) => void warnings.push(warning),
  });
  const content = await runner.run(invocationForTest({ tool_name: tool.definition.tool_name, effect: "read" }), {
    signal: new AbortController().signal,
    ...(isLogged ? { onLog: (entry: ToolLogEntry) => void logs.push(entry) } : {}),
    onFailure: ({ stack }) => void failures.push(stack),
  });
  return { content, logs, warnings, failures, stack: failures[0] ?? "" };
}

function leaveBehind(): void {
  foreignCode()?.onStray(new RangeError("left behind"));
}

describe.each(PLACEMENTS)("a handler that fails (%s)", (placement) => {
  it.each(["find", "now"])("is reported with its stack, the author's line first: %s", async (name) => {
    const { content, failures, stack, logs } = await run(toolOf(placement, name));
    expect(content).toMatchObject({ status: "failed", error: { code: "internal_error" } });
    expect(failures).toHaveLength(1);
    const [head, first, second] = stack.split("\n");
    expect(head).toBe("TypeError: Cannot read properties of undefined (reading 'name')");
    expect(first).toMatch(new RegExp(`^ {4}at nameOf \\(${entry}:${LINE_OF_MISTAKE}:\\d+\\)$`));
    expect(second).toContain(`${entry}:`);
    expect(stack).toMatch(/\n {4}… \d+ more of Tessera and Node\.js$/);
    expect(stack).not.toMatch(/packages\/(tool|executor)\/src|node:internal|jiti/);
    // In the log once, with the call that it belongs to, and nowhere in what a model may see.
    expect(logs).toMatchObject([{ level: "error", message: stack, tool_name: `orders__${name}`, attempt: 1 }]);
    expect(JSON.stringify(content)).not.toContain("orders.ts");
  });

  it.each([
    ["text", "what was thrown is no Error and has no stack: out of stock"],
    ["object", 'what was thrown is no Error and has no stack: {"code":7,"why":"odd"}'],
  ])("with what is no Error is told so: %s", async (name, stack) => {
    expect((await run(toolOf(placement, name))).failures).toEqual([stack]);
  });

  it("is reported with its causes, and with the errors of an AggregateError", async () => {
    const { stack } = await run(toolOf(placement, "causes"));
    expect(stack.match(/^(?:caused by: )?\w*Error: .*$/gm)).toEqual([
      "Error: no stock",
      "caused by: TypeError: fetch failed",
      "caused by: Error: ECONNREFUSED",
    ]);
    const several = await run(toolOf(placement, "several"));
    expect(several.stack).toContain("error 1 of 2: RangeError: one");
    expect(several.stack).toContain("error 2 of 2: Error: two");
  });

  it("in a library is reported at the author's line, and where in the library's source", async () => {
    const { stack } = await run(toolOf(placement, "library"));
    const line = MODULE.split("\n").findIndex((each) => each.includes("connect(),")) + 1;
    const [, first, mark, inside] = stack.split("\n");
    expect(first).toContain(`${entry}:${line}:`);
    expect(mark).toBe("    in libraries:");
    expect(inside).toContain(`(${join(root, "node_modules/driver/src/connect.ts")}:6:`);
  });

  it("on purpose is reported to the host, and is no news for the log", async () => {
    const { content, logs, stack } = await run(toolOf(placement, "meant"));
    expect(content).toMatchObject({ error: { message: "no such city" } });
    expect(stack).toMatch(/^ToolError: no such city\n/);
    expect(logs).toEqual([]);
    expect((await run(toolOf(placement, "meant"), { isLogged: false })).warnings).toEqual([]);
  });

  it("is a warning of the host where the log of calls goes nowhere", async () => {
    const { stack, warnings } = await run(toolOf(placement, "now"), { isLogged: false });
    expect(warnings).toEqual([expect.stringContaining(`orders__now failed (call tc_1, attempt 1): ${stack}`)]);
  });

  it("keeps secrets out of it, also where one was cut", async () => {
    const envs: ToolOptions = { envs: { key: "SECRET_KEY" } };
    for (const name of ["leak", "leakCut"]) {
      const { stack, logs } = await run(toolOf(placement, name, envs), { env: { SECRET_KEY: SECRET } });
      expect(stack).toContain("***");
      expect(stack).not.toContain(SECRET.slice(0, 6));
      expect(JSON.stringify(logs)).not.toContain(SECRET.slice(0, 6));
      expect(stack.length).toBeLessThanOrEqual(STACK_CHARS_MAX);
    }
  });

  it("outside of its call, while that runs, is reported with the stack of what ended it", async () => {
    const tool = toolOf(placement, "stray");
    // Inline, a listener of the process learns whose code it was (runtime's stray-failures.ts); here there is none.
    const code = { kind: "function", handler: () => new Promise<null>(() => setImmediate(leaveBehind)) } as const;
    const { content, failures, logs, warnings } = await run(placement === "inline" ? { ...tool, code } : tool);
    expect(content).toMatchObject({ status: "failed", error: { code: "tool_crashed" } });
    const where = placement === "inline" ? "" : "at .*orders\\.ts:\\d+";
    expect(failures).toEqual([expect.stringMatching(new RegExp(`^RangeError: left behind\\n {4}${where}`))]);
    const said = [...logs.map(({ message }) => message), ...warnings].join("\n");
    expect(said.match(/RangeError: left behind/g)).toHaveLength(1);
  });
});

describe("a run without a mistake in the tool's code", () => {
  it.each(PLACEMENTS)("reports none: it went well (%s)", async (placement) => {
    const { content, failures, logs } = await run(toolOf(placement, "fine"));
    expect({ status: content.status, failures, logs }).toEqual({ status: "success", failures: [], logs: [] });
  });

  it("reports none: its code is not here", async () => {
    const tool = { ...toolOf("inline", "fine"), code: null };
    expect(await run(tool)).toMatchObject({ content: { status: "failed" }, failures: [] });
  });
});

describe("a module that cannot be loaded", () => {
  it("is reported at its own line: to the caller that asked for it, and with the call that needs it", async () => {
    const broken = join(root, "broken.ts");
    await writeFile(
      broken,
      "const rates: Record<string, { usd: number }> = {};\n\nexport const usd = rates.eur!.usd;\nexport const handlers = {};\n",
    );
    const place = /\(broken\.ts:3:\d+\)$/;
    const asked = await isolated.inspect(broken, root).catch((error: unknown) => error as Error);
    expect(asked).toMatchObject({ code: "E_CONFIG_SCHEMA_INVALID", message: expect.stringMatching(place) });
    expect((asked as Error).message).not.toContain("\n");
    expect(((asked as Error).cause as Error).stack).toMatch(new RegExp(`^TypeError: .*\\n {4}at .*${broken}:3:`));
    const here = await loadToolModule(broken, { root }).catch((error: unknown) => error as Error);
    expect(here).toMatchObject({ message: expect.stringMatching(place), cause: expect.any(TypeError) });
    const tool = toolOf("isolated", "fine");
    const { content, stack, logs } = await run({ ...tool, code: { kind: "module", entry: broken, export_name: "x" } });
    expect(content).toMatchObject({ error: { code: "internal_error" } });
    expect(stack).toMatch(new RegExp(`^TypeError: .*\\n {4}at .*${broken}:3:`));
    expect(logs).toMatchObject([{ level: "error", message: stack }]);
  });
});
