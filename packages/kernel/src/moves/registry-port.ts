// The roster, tool definitions, standalone cards and boxes, dead letters.

import { createHash } from "node:crypto";
import type { ReadonlyJsonObject, ToolDefinition } from "@tessera/protocol";
import { type TransitionDeps, transition } from "../batching/transitions.ts";
import type { CardDraft, Rejected, WriteOutcome } from "./outcomes.ts";
import { answering, checkIds, gateCard, gateDefinition } from "./request-gate.ts";

export interface AgentRecord {
  readonly project_id: string;
  readonly agent_id: string;
  readonly worker_target: string;
  readonly profile_box_id?: string;
  readonly tags?: readonly string[];
  readonly display_name?: string | undefined;
  readonly owner_agent_id?: string | undefined;
  readonly status?: "active" | "inactive";
  readonly metadata?: ReadonlyJsonObject;
  /** Writes only if there is no such agent, else `conflict`. A repetition is known by the id of its identity edge. */
  readonly only_new?: boolean;
  readonly identity_edge?: ReadonlyJsonObject;
}

/** A definition as a project registers it. */
export interface ToolRecord extends Pick<ToolDefinition, "tool_name" | "target_subject" | "after_execution"> {
  readonly project_id: string;
  readonly description?: string | undefined;
  readonly parameters?: ReadonlyJsonObject | undefined;
  readonly options?: ReadonlyJsonObject | undefined;
}

type ToolOutcome =
  | Rejected
  | { readonly outcome: "accepted" | "duplicate"; readonly digest: string; readonly version: number };

/** Writes only if the current version has this digest; null: only if there is none. Else `precondition_failed`. */
interface ToolExpectation {
  readonly expected_digest?: string | null | undefined;
}

type ToolItem = ToolExpectation & { readonly is_repeat?: true } & (
    | (ToolRecord & { readonly digest: string })
    | { readonly project_id: string; readonly tool_name: string; readonly removed: true }
  );

interface DeadLetter {
  readonly project_id?: string | undefined;
  readonly correlation_id?: string | undefined;
  readonly reason: string;
  readonly detail?: ReadonlyJsonObject | undefined;
}

export interface RegistryPort {
  putAgent(agent: AgentRecord): Promise<WriteOutcome>;
  /** Appends a version; the same definition as the current one is a duplicate (docs/design.md#definitions-are-versioned). */
  putTool(tool: ToolRecord & ToolExpectation): Promise<ToolOutcome>;
  removeTool(tool: { project_id: string; tool_name: string } & ToolExpectation): Promise<WriteOutcome>;
  putCard(card: CardDraft & { readonly project_id: string; readonly author_id: string }): Promise<WriteOutcome>;
  putBox(box: {
    project_id: string;
    box_id: string;
    agent_id?: string;
    card_ids?: readonly string[];
  }): Promise<WriteOutcome>;
  /** Only this database login (and others bound likewise) may open the target's calls with a ticket; `removed` lets it go. */
  bindTarget(binding: { target: string; principal: string; removed?: boolean }): Promise<WriteOutcome>;
  putDeadLetter(letter: DeadLetter): Promise<WriteOutcome>;
}

export function createRegistryPort(world: TransitionDeps): RegistryPort {
  const putAgent = transition<AgentRecord, WriteOutcome>(world, "put_agents", {
    keyOf: (item) => `${item.project_id}/${item.agent_id}`,
  });
  const putTool = transition<ToolItem, ToolOutcome>(world, "put_tools", {
    keyOf: (item) => `${item.project_id}/${item.tool_name}`,
    repeat: (item) => ({ ...item, is_repeat: true }),
  });
  const putCard = transition<CardDraft, WriteOutcome>(world, "put_cards", { keyOf: (item) => item.card_id });
  const putBox = transition<{ project_id: string; box_id: string }, WriteOutcome>(world, "put_boxes", {
    keyOf: (item) => item.box_id,
  });
  const bindTarget = transition<{ target: string; principal: string; removed?: boolean }, WriteOutcome>(
    world,
    "put_target_principals",
    {
      keyOf: (item) => `${item.target}/${item.principal}`,
    },
  );
  const putDeadLetter = transition<DeadLetter, WriteOutcome>(world, "put_dead_letters");
  return {
    putAgent: (agent) =>
      answering(async () => {
        checkIds({ project_id: agent.project_id, agent_id: agent.agent_id, worker_target: agent.worker_target });
        return await putAgent(agent);
      }),
    putTool: (tool) =>
      answering(async () => {
        const gated = gateTool(tool);
        return await putTool({ ...gated, digest: toolDigest(gated) });
      }),
    removeTool: (tool) => putTool({ ...tool, removed: true }) as Promise<WriteOutcome>,
    putCard: (card) => answering(async () => await putCard(gateCard(card))),
    putBox: (box) =>
      answering(async () => {
        checkIds({ project_id: box.project_id, box_id: box.box_id });
        return await putBox(box);
      }),
    bindTarget: (binding) => bindTarget(binding),
    putDeadLetter: (letter) => putDeadLetter(letter),
  };
}

/** Before the digest is made: writing it walks into whatever the values hold. */
function gateTool(tool: ToolRecord & ToolExpectation): ToolRecord & ToolExpectation {
  checkIds({ project_id: tool.project_id });
  const { parameters, options } = tool;
  return {
    ...tool,
    parameters: parameters && gateDefinition(parameters),
    options: options && gateDefinition(options),
  };
}

/** Names a definition by what it says, whatever the order of its keys. */
export function toolDigest(tool: ToolRecord): string {
  const said = [
    tool.tool_name,
    tool.description ?? "",
    tool.parameters ?? {},
    tool.target_subject,
    tool.after_execution,
    tool.options ?? {},
  ];
  return createHash("sha256").update(JSON.stringify(said, sortKeys)).digest("hex");
}

function sortKeys(_key: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}
