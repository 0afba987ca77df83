// For tests: definitions run as a tool service runs them, through a registry and a ToolRunner, with the hosts of the
// internet replaced by a stand-in.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject, ToolResultContent } from "@tessera/protocol";
import { type RegisteredTool, type ToolInvocation, toolPolicy } from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import { createIsolatedHost } from "../placements/isolated-host.ts";
import { createToolRunner } from "../placements/tool-runner.ts";
import { openWorkspaces } from "../workspace/workspaces.ts";
import { createOpenApiHost, type OpenApiHostOptions } from "./host.ts";

export interface SampleRunner extends AsyncDisposable {
  readonly warnings: string[];
  readonly logged: string[];
  run(tool_name: string, args: JsonObject): Promise<ToolResultContent>;
}

export async function startSampleRunner(
  tools: readonly RegisteredTool[],
  options: Pick<OpenApiHostOptions, "clock" | "dispatcher" | "env" | "credentialHosts">,
): Promise<SampleRunner> {
  const { clock } = options;
  const warnings: string[] = [];
  const logged: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const host = createOpenApiHost({ ...options, onWarning });
  const directory = await mkdtemp(join(tmpdir(), "tessera-openapi-"));
  const runner = createToolRunner({
    resolve(invocation) {
      const known = registry.get(invocation.tool_name) ?? null;
      if (known === null || known.code !== null) return known;
      return { ...known, code: host.codeFor(known.definition, invocation) };
    },
    isolated: createIsolatedHost({ clock, onWarning }),
    workspaces: await openWorkspaces(directory),
    environment: { env: options.env },
    clock,
    onWarning,
  });
  return {
    warnings,
    logged,
    run(tool_name, args) {
      const definition = registry.get(tool_name)?.definition;
      const effect = definition === undefined ? "once" : toolPolicy(definition).effect;
      return runner.run(invocationOf(tool_name, args, effect), {
        signal: new AbortController().signal,
        onLog: (entry) => void logged.push(JSON.stringify(entry)),
      });
    },
    async [Symbol.asyncDispose]() {
      await runner.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

function invocationOf(tool_name: string, args: JsonObject, effect: ToolInvocation["effect"]): ToolInvocation {
  return {
    project_id: "p1",
    channel_id: "public",
    agent_id: "clerk",
    agent_turn_id: "turn_1",
    turn_epoch: 1,
    step_id: "step_1",
    parent_step_id: null,
    trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
    span_id: "00f067aa0ba902b7",
    recursion_depth: 0,
    tool_call_id: "tc_1",
    tool_name,
    arguments: args,
    effect,
    after_execution: "suspend",
    attempt: 1,
    mode: "run",
    idempotency_key: "idem_1",
    message: { card_id: "card_1", content: null, tool_calls: [] },
    definition: null,
  };
}
