// Dispatch in the process: a tool with a schema, its arguments checked, run and answered for, without a store. What the
// product adds to a function call.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@tessera/engines/system";
import { createIsolatedHost, createToolRunner, openWorkspaces } from "@tessera/executor";
import { defineTool, type ToolInvocation } from "@tessera/tool";
import { rounded } from "../statistics.ts";
import { loadFigures, measureLoad } from "./load.ts";
import { seconds, tell } from "./program.ts";

const echo = defineTool({
  name: "echo__run",
  parameters: {
    type: "object",
    properties: { text: { type: "string", maxLength: 100 }, times: { type: "integer", minimum: 1 } },
    required: ["text"],
    additionalProperties: false,
  } as const,
  effect: "read",
  handler: (_, { text }) => ({ text }),
});

const invocation: ToolInvocation = {
  project_id: "bench",
  channel_id: "public",
  agent_id: "agent_1",
  agent_turn_id: "turn_1",
  turn_epoch: 1,
  step_id: "step_1",
  parent_step_id: null,
  trace_id: "0af7651916cd43dd8448eb211c80319c",
  span_id: "b7ad6b7169203331",
  recursion_depth: 0,
  tool_call_id: "tc_1",
  tool_name: "echo__run",
  arguments: { text: "hello world" },
  effect: "read",
  after_execution: "suspend",
  attempt: 1,
  mode: "run",
  idempotency_key: "tool.bench.echo__run.1",
  message: {
    card_id: "card_1",
    content: { text: "I will call echo" },
    tool_calls: [{ id: "tc_1", name: "echo__run" }],
  },
  definition: echo.definition,
};

const directory = mkdtempSync(join(tmpdir(), "tessera-bench-"));
const onWarning = (warning: string) => console.error(warning);
const isolated = createIsolatedHost({ clock: systemClock, env: {}, cacheDir: directory, onWarning });
const runner = createToolRunner({
  resolve: () => echo,
  isolated,
  workspaces: await openWorkspaces(directory),
  environment: { env: {} },
  clock: systemClock,
  onWarning,
});
const { signal } = new AbortController();
const load = await measureLoad([null], seconds, async () => {
  const { status } = await runner.run(invocation, { signal });
  if (status !== "success") throw new Error(`the tool answered ${status}`);
});
const { p50_ms = 0, p99_ms = 0, per_second = 0 } = loadFigures("", load);
tell({ p50_us: rounded(p50_ms * 1_000), p99_us: rounded(p99_ms * 1_000), per_second });
await runner.close();
rmSync(directory, { recursive: true, force: true });
