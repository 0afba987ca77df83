// tessera agents ls: the agents of a project, what they do now, and the profiles that new ones are made from.
// tessera agents reset: an instance begins its conversation anew.
//
//   A1. A reset asks nothing: nothing is deleted, and a running turn goes on as it began.

import type { Agent, Client } from "@tessera/client";
import type { Command } from "commander";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { storeWords } from "../output/paste-command.ts";
import { type Line, labelled, type Terminal } from "../output/printing-gate.ts";
import { shortTime } from "../output/short-time.ts";
import type { ProgramParts } from "../program.ts";

interface AgentsResetFlags extends ApiFlags {
  readonly instance: string;
  readonly reason?: string;
}

const IDLE = "idle";
const REASON_CHARS_MAX = 1_000;

type Profile = Awaited<ReturnType<Client["listProfiles"]>>["profiles"][number];

const RESET_HELP = `
The turns of an instance are one conversation: each remembers those before it.
After a reset, later turns remember nothing from before. Nothing is deleted, and
a turn that is under way goes on as it began.

Examples:
  $ tessera agents reset planner --data ./store
  $ tessera agents reset planner --instance ann --reason "another customer" --data ./store`;

export function defineAgents(agents: Command, { terminal, onExit }: ProgramParts): void {
  addApiFlags(agents.command("ls"))
    .description("list the agents of a project, and what they do now")
    .action(async (flags: ApiFlags) => onExit(await agentsLs(flags, terminal)));
  addApiFlags(agents.command("reset"))
    .argument("<name>", "the agent's name, as `agents ls` shows it")
    .description("begin an agent's conversation anew")
    .option("--instance <key>", "which instance of the agent", "default")
    .option("--reason <text>", "why; kept with the reset")
    .addHelpText("after", RESET_HELP)
    .action(async (name: string, flags: AgentsResetFlags) => onExit(await agentsReset(name, flags, terminal)));
}

async function agentsLs(flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const { project } = flags;
  const { agents, profiles, doing } = await withApi(flags, terminal, async ({ client }) => {
    const heads = await listOfProject(project, () =>
      allPages("heads", (page) => client.listHeads({ project, ...page })),
    );
    return {
      agents: await agentsOf(client, project),
      profiles: await listOfProject(project, () =>
        allPages("profiles", (page) => client.listProfiles({ project, ...page })),
      ),
      doing: new Map(heads.map(({ agentId, status }) => [agentId, status])),
    };
  });
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    const known = agents.map((agent) => ({ ...wireDocument("Agent", agent), doing: doing.get(agent.agentId) ?? null }));
    const summaries = profiles.map((profile) => wireDocument("ProfileSummary", profile));
    terminal.out(`${JSON.stringify({ ok: true, project, agents: known, profiles: summaries })}\n`);
    return EXIT.ok;
  }
  if (agents.length > 0) terminal.out([{ rows: agentRows(agents, doing), ids: ["instance", "agent_id"] }]);
  else terminal.out(`no agent of project ${project} has been at work\n`);
  terminal.err([profilesText(profiles)]);
  return EXIT.ok;
}

export function agentsOf(client: Client, project: string): Promise<Agent[]> {
  return listOfProject(project, () => allPages("agents", (page) => client.listAgents({ project, ...page })));
}

/** What people call it: one that was registered by its id alone has no name. */
export function nameOf({ agentId, metadata, displayName }: Agent): string {
  const { agent_name } = (metadata ?? {}) as { readonly agent_name?: unknown };
  return typeof agent_name === "string" ? agent_name : (displayName ?? agentId);
}

/** Those at work first, the newest first among their like. */
export function agentRows(agents: readonly Agent[], doing: ReadonlyMap<string, string>) {
  const names = new Map(agents.map((agent) => [agent.agentId, nameOf(agent)]));
  const isIdle = ({ agentId }: Agent) => (doing.get(agentId) ?? IDLE) === IDLE;
  return agents
    .toSorted((a, b) => Number(isIdle(a)) - Number(isIdle(b)) || (a.createdAt < b.createdAt ? 1 : -1))
    .map((agent) => {
      const { agentId, ownerAgentId, workerTarget, createdAt } = agent;
      const { instance_key } = (agent.metadata ?? {}) as { readonly instance_key?: unknown };
      const owner = ownerAgentId === null ? null : names.get(ownerAgentId);
      return {
        agent: nameOf(agent),
        instance: typeof instance_key === "string" ? instance_key : null,
        doing: doing.get(agentId) ?? null,
        owner: owner === undefined ? ownerAgentId : owner,
        worker: workerTarget,
        created: shortTime(createdAt),
        agent_id: agentId,
      };
    });
}

function profilesText(profiles: readonly Profile[]): Line {
  const names = profiles.map(({ name }) => name).join(", ");
  if (names !== "") return { line: [`  a task can be given to: ${names}`], hang: 4 };
  const todo = "Define agents in a bundle, then: `tessera start DIR`, or `tessera run DIR --input TEXT`.";
  return labelled("what to do", todo);
}

async function agentsReset(name: string, flags: AgentsResetFlags, terminal: Terminal): Promise<ExitCode> {
  const { project, instance, reason } = flags;
  if (reason !== undefined && reason.length > REASON_CHARS_MAX) {
    throw usageError(`--reason has at most ${REASON_CHARS_MAX} characters`);
  }
  const { agentIdOf } = await import("@tessera/runtime");
  const reset = await withApi(flags, terminal, async ({ client }) => {
    const agent = agentIdOf(project, name, instance);
    try {
      return await client.resetAgent({ project, agent, body: reason === undefined ? {} : { reason } });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const ls = ["tessera agents ls", ...storeWords(flags, terminal.env)].join(" ");
      const message = `no agent ${JSON.stringify(name)} with the instance ${JSON.stringify(instance)} has been at work`;
      throw errorWithTodo("agent_not_found", message, `See those that have, each with its instance: ${ls}`);
    }
  });
  const { wireDocument } = await import("@tessera/client");
  const facts = { agent: name, instance_key: instance, ...wireDocument("ConversationReset", reset) };
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, ...facts })}\n`);
  else
    terminal.out(
      `reset ${name} (${instance}): from turn ${reset.conversationFrom} on it remembers nothing from before\n`,
    );
  return EXIT.ok;
}
