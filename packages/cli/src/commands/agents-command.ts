// tessera agents ls: the agents of a project, what they do now, and the profiles that new ones are made from.

import { type Agent, type Client, wireDocument } from "@tessera/client";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { type Line, labelled, type Terminal } from "../output/printing-gate.ts";
import { shortTime } from "../output/short-time.ts";

const IDLE = "idle";

type Profile = Awaited<ReturnType<Client["listProfiles"]>>["profiles"][number];

export async function agentsLsCommand(flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
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
