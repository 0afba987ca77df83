// For tests: definitions run as a tool service runs them, through a registry and a ToolRunner, with the hosts of the
// internet replaced by a stand-in.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject, ToolResultContent } from "@tessera/protocol";
import { type RegisteredTool, toolPolicy } from "@tessera/tool";
import { ToolRegistry } from "@tessera/tool/catalog";
import { credentialGrants } from "../src/openapi/credential-grants.ts";
import { createOpenApiHost, type OpenApiHostOptions } from "../src/openapi/index.ts";
import { createIsolatedHost } from "../src/placements/isolated/isolated-host.ts";
import { createToolRunner } from "../src/placements/tool-runner.ts";
import { openWorkspaces } from "../src/workspace/workspaces.ts";
import { invocationForTest } from "./invocation.ts";

export interface DefinitionRunner extends AsyncDisposable {
  readonly warnings: string[];
  readonly logged: string[];
  run(tool_name: string, args: JsonObject): Promise<ToolResultContent>;
}

export async function startDefinitionRunner(
  tools: readonly RegisteredTool[],
  options: Pick<OpenApiHostOptions, "clock" | "dispatcher" | "env">,
): Promise<DefinitionRunner> {
  const { clock } = options;
  const warnings: string[] = [];
  const logged: string[] = [];
  const onWarning = (warning: string) => void warnings.push(warning);
  const registry = new ToolRegistry();
  for (const tool of tools) registry.register(tool);
  const grants = async () => tools.flatMap(({ definition }) => credentialGrants(definition));
  const host = createOpenApiHost({ ...options, grants, onWarning });
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
      return runner.run(invocationForTest({ agent_id: "clerk", tool_name, arguments: args, effect }), {
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
