// Extensions in the loop for tests, on a store in memory with one tool, `echo__say`.
//
// `useExtensionBench` is called once in each test file: every test gets a store of its own.

import type { ToolRunner } from "@tessera/tool";
import { afterEach, beforeEach } from "vitest";
import type { ExtensionModule } from "../src/extensions/api.ts";
import type { ExtensionHost } from "../src/extensions/extension-host.ts";
import { extensionsOnDemand } from "../src/extensions/extensions-on-demand.ts";
import { AgentFixture } from "./agent-fixture.ts";

export let fx: AgentFixture;
/** What `echo__say` was asked to say. */
export const runs: unknown[] = [];
export const logs: string[] = [];

export function useExtensionBench(): void {
  beforeEach(async () => {
    fx = await AgentFixture.open();
    runs.length = 0;
    logs.length = 0;
    await fx.tool({
      name: "echo__say",
      parameters: {
        type: "object",
        properties: { text: { type: "string" } },
        required: ["text"],
        additionalProperties: false,
      },
      effect: "read",
      handler: (_ctx: unknown, input: { text: string }) => {
        runs.push(input.text);
        return { said: input.text };
      },
    } as never);
  });
  afterEach(() => fx.close());
}

/** `web__find`, which runs in another process. */
export async function serviceTool(): Promise<void> {
  const definition = { name: "web__find", placement: "service", target: "web", effect: "read" };
  await fx.tool({ ...definition, handler: () => null } as never);
}

/** A host of extensions whose logs are kept. */
export function host(...extensions: ExtensionModule[]): ExtensionHost {
  return hostWith({}, ...extensions);
}

export function hostWith(
  options: Partial<Parameters<typeof extensionsOnDemand>[0]>,
  ...extensions: ExtensionModule[]
): ExtensionHost {
  return extensionsOnDemand({
    extensions,
    kernel: fx.kernel,
    clock: fx.clock,
    ...options,
    onLog: ({ extension, level, message }) => void logs.push(`${extension} ${level} ${message}`),
    onWarning: (warning) => void fx.warnings.push(warning),
  });
}

/** The runner of a process with extensions: their tools are found where the host says. */
export function runnerWith(extensions: ExtensionHost): ToolRunner {
  return {
    run: (invocation, options) => {
      const tool = extensions.toolOf(invocation);
      if (tool !== null) fx.tools.set(invocation.tool_name, tool);
      return fx.runner.run(invocation, options);
    },
    close: async () => undefined,
  };
}

export const extension = (register: ExtensionModule["register"], name = "guard"): ExtensionModule => ({
  name,
  register,
});
export const listed = (...names: string[]) => ({ extensions: names.map((name) => ({ name, config: null })) });

export async function turnWith(extensions: ExtensionHost, profile: Parameters<AgentFixture["agent"]>[0]) {
  await fx.worker({ extensions, runner: runnerWith(extensions) });
  const agent = await fx.agent(profile);
  const id = await fx.enqueue(agent, "go");
  const ended = await fx.ended(id);
  const cards = await fx.cards(id);
  return { agent, id, ended, results: cards.filter((card) => card.type === "tool.result").map((card) => card.content) };
}

export const callOnce = (name: string, args: unknown) => {
  fx.script = ({ step }) => (step === 0 ? { tool_calls: [{ name, arguments: args }] } : { text: "done" });
};
