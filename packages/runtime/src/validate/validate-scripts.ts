// What the rules of scripted models call: a tool that none of their agents has is a misspelt name.
//
//   S1. A rule for one agent is measured by that agent's tools; one for any agent by those of all that use the model.
//   S2. Only what is certain is told: nothing of a bundle with mistakes, whose resources may be missing, and nothing of an
//       agent with extensions, which may bring tools of their own.

import type { SwarmBundle } from "@tessera/agent";
import type { LoadedBundle } from "@tessera/executor";
import { isJsonObject, type JsonValue } from "@tessera/protocol";
import { type Finding, findingOf } from "./validate-finding.ts";

type Agent = SwarmBundle["agents"][number];

const SCRIPTED = "scripted";
/** How a turn is ended with fields: the loop offers it where it must be the last call. */
const SUBMIT_RESULT = "submit_result";

export function scriptFindings({ others, mistakes }: LoadedBundle, swarm: SwarmBundle): Finding[] {
  if (mistakes.length > 0 || swarm.mistakes.length > 0) return []; // S2
  return swarm.models.flatMap(({ name, spec }) => {
    const written = others.find((resource) => resource.kind === "Model" && resource.name === name);
    if (spec.provider !== SCRIPTED || written === undefined) return [];
    const users = swarm.agents.filter(({ model }) => model === name);
    return callsOf(spec.options?.rules).flatMap(({ tool, agent, pointer }) => {
      const asked = agent === null ? users : users.filter((each) => each.name === agent); // S1
      if (asked.length === 0 || asked.some((each) => mayCall(each, tool))) return [];
      const who = asked.map((each) => each.name).join(", ");
      const own = [...new Set(asked.flatMap(toolsOf))];
      const has = own.length === 0 ? "it has none" : `there are ${own.join(", ")}`;
      const message = `a rule of Model/${name} calls ${tool}, which is no tool of ${who}; ${has}`;
      const at = written.document.locate(`/spec/options${pointer}`);
      return [
        findingOf("warning", "unknown_tool", {
          file: written.file,
          pointer: `/spec/options${pointer}`,
          ...at,
          message,
        }),
      ];
    });
  });
}

interface ScriptedCall {
  readonly tool: string;
  /** Null: the rule is for any. */
  readonly agent: string | null;
  readonly pointer: string;
}

function callsOf(rules: JsonValue | undefined): ScriptedCall[] {
  return listOf(rules).flatMap((rule, index) => {
    const { when, reply } = isJsonObject(rule) ? rule : {};
    const agent = isJsonObject(when) && typeof when.agent === "string" ? when.agent : null;
    return listOf(isJsonObject(reply) ? reply.toolCalls : undefined).flatMap((call, place) => {
      const tool = isJsonObject(call) && typeof call.name === "string" ? call.name : null;
      const pointer = `/rules/${index}/reply/toolCalls/${place}/name`;
      return tool === null ? [] : [{ tool, agent, pointer }];
    });
  });
}

function mayCall(agent: Agent, tool: string): boolean {
  return agent.extensions.length > 0 || toolsOf(agent).includes(tool) || tool === SUBMIT_RESULT;
}

function toolsOf({ tools, allowed_internal_tools }: Agent): string[] {
  return [...tools, ...allowed_internal_tools];
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
