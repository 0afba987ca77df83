// tessera run on a running process, by its URL or the directory it holds: one turn, watched from here.
//
//   M1. The turn is the server's: Ctrl-C and the end of --wait leave it running.
//   M2. Without --agent the task goes to the entry agent of the one swarm there is, or to the only agent.

import type { Client, Profile } from "@tessera/client";
import { isJsonObject } from "@tessera/protocol";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { openWatch } from "../progress/watch-turns.ts";
import { tellAnswer, tellOpen } from "../turns/turn-answer.ts";
import type { RunFlags } from "./run.ts";

const NAMES_MAX = 40;

export async function runRemotely(order: {
  readonly flags: RunFlags;
  readonly terminal: Terminal;
  readonly input: string;
  readonly waitSeconds: number;
  readonly signal: AbortSignal;
}): Promise<ExitCode> {
  const { flags, terminal, input, waitSeconds, signal } = order;
  const { project, agent } = flags;
  return await withApi(flags, terminal, async (api) => {
    const name = agent ?? (await entryAgent(api.client, project));
    const until = api.clock.monotonicMs() + waitSeconds * 1_000;
    const { agentTurnId } = await api.client.enqueueTurn({
      project,
      body: { agent: name, input, ...instanceIn(flags) },
    });
    const watch = openWatch(api, { flags, terminal, until, signal });
    const { answers } = await watch.turns([agentTurnId]).finally(() => watch.close());
    const [answer] = answers;
    if (answer !== undefined) return tellAnswer(answer, flags, terminal);
    return tellOpen(agentTurnId, flags, terminal, signal.aborted ? null : waitSeconds); // M1
  });
}

/** Which instance of the agent the task is for, and whether it is to remember what was before. */
export function instanceIn({ instance, fresh }: Pick<RunFlags, "instance" | "fresh">) {
  return {
    ...(instance === undefined ? {} : { instanceKey: instance }),
    ...(fresh === true ? { isFresh: true } : {}),
  };
}

/** M2 */
export async function entryAgent(client: Client, project: string): Promise<string> {
  const profiles = await listOfProject(project, () =>
    allPages("profiles", (page) => client.listProfiles({ project, ...page })),
  );
  const names = profiles.map(({ name }) => name);
  const [only] = names;
  if (only !== undefined && names.length === 1) return only;
  const entries: string[] = [];
  for (const profile of names) if (isEntry(await client.getProfile({ project, profile }))) entries.push(profile);
  const [entry] = entries;
  if (entry !== undefined && entries.length === 1) return entry;
  const todo =
    names.length === 0
      ? "Upload a profile, or start the server with a bundle."
      : `Use one of ${(entries.length === 0 ? names : entries).slice(0, NAMES_MAX).join(", ")}.`;
  const why = entries.length === 0 ? "no swarm says who gets a task" : `${entries.length} swarms have an entry agent`;
  throw errorWithTodo("agent_not_found", `name the agent that gets the task with --agent: ${why}`, todo, EXIT.usage);
}

function isEntry({ name, profile }: Profile): boolean {
  const swarm = isJsonObject(profile) ? profile.swarm : null;
  return isJsonObject(swarm) && swarm.entry_agent === name;
}
