// tessera chat: where the conversation is. In this process, with everything it needs, as `tessera run`; or on a running server.
//
//   C1. Text is printed as the model writes it where the worker is this process. From a server it comes step by step.

import type { ChunkPayload } from "@tessera/protocol";
import type { Process } from "@tessera/runtime";
import type { Command } from "commander";
import { type Api, startedHolder, withApi } from "../connect/connection.ts";
import type { ExitCode } from "../exit-codes.ts";
import { addHostFlags, addServerFlags, type HostFlags } from "../flags/flags.ts";
import { ROLES } from "../flags/roles.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { bundleHere, noBundleHere } from "./bundle-here.ts";
import { checkPlace, isRemote } from "./work-place.ts";

export interface ChatFlags extends HostFlags {
  readonly url?: string;
  readonly apiKeyFile?: string;
  readonly agent?: string;
  readonly instance: string;
  readonly fresh?: boolean;
}

/** Where a conversation is held, and with whom. */
export interface ChatPlace extends Pick<Api, "client" | "clock" | "renew"> {
  readonly agent: string;
  readonly agentId: string;
  /** Calls back with what models write until it is stopped; absent: that does not reach this process (C1). */
  readonly listen?: (heard: (chunk: ChunkPayload) => void) => Promise<{ stop(): Promise<void> }>;
  /** Whether turns outlive this process. */
  readonly isKept: boolean;
}

const CLOSE_GRACE_MS = 1_000;

const CHAT_HELP = `
Each line is a task for the agent, and its turns are one conversation: it is
shown what was said before. A line that is typed while a turn runs is queued.
With --data the conversation is kept: started again, it is shown, what was left
open is finished, and it goes on, also after the process was killed. Answers are
on stdout, everything else is on stderr; without a terminal, lines are read from
stdin and the command ends with them. With --json, stdout has an event per line.

  /fresh   the next line begins the conversation anew
  /reset   begin the conversation anew now
  /help    show these
  /exit    leave; so does Ctrl-C where no turn runs

Ctrl-C while a turn runs asks whether to stop it, leave it running or go on.

Examples:
  $ tessera chat ./bundle --data ./store
  $ tessera chat ./bundle --data ./store --instance ann
  $ tessera chat --url http://127.0.0.1:8099 --agent planner
  $ printf 'hello\\nwhat did I say?\\n' | tessera chat ./bundle`;

export function defineChat(command: Command, { terminal, onExit }: ProgramParts): void {
  addServerFlags(addHostFlags(command))
    .argument("[bundle]", "a directory with agents (default: the current one, if it holds any)")
    .option("--agent <name>", "with whom (default: the swarm's entry agent)")
    .option("--instance <key>", "which instance of the agent: each remembers its own turns", "default")
    .option("--fresh", "the first line begins the conversation anew")
    .addHelpText("after", CHAT_HELP)
    .action(async (bundle: string | undefined, flags: ChatFlags) => onExit(await chat(bundle, flags, terminal)));
}

async function chat(given: string | undefined, raw: ChatFlags, terminal: Terminal): Promise<ExitCode> {
  checkPlace(given, raw);
  const here = given ?? bundleHere();
  const { hostSettings } = await import("../flags/host-settings.ts");
  const { flags, values } = await hostSettings(raw, terminal, { bundle: here });
  if (await isRemote(given, flags)) return await chatRemotely(flags, terminal);
  if (here === undefined) throw noBundleHere();
  const [{ API_HOST }, { withProcess }, { holdChat }] = await Promise.all([
    import("@tessera/runtime"),
    import("../connect/with-process.ts"),
    import("../chat/chat-session.ts"),
  ]);
  const settings = { ...values, port: 0, host: API_HOST, api_key: undefined };
  const options = { roles: ROLES, onLog: () => undefined };
  try {
    return await withProcess(
      { flags, settings, terminal, bundle: here, isThrowAway: true, graceMs: CLOSE_GRACE_MS, options },
      async (process) => await holdChat(await placeIn(process, flags), flags, terminal),
    );
  } catch (error) {
    if ((await startedHolder(error, flags, terminal)) === null || !(await isRemote(given, flags))) throw error;
    return await chatRemotely(flags, terminal);
  }
}

async function chatRemotely(flags: ChatFlags, terminal: Terminal): Promise<ExitCode> {
  const [{ agentIdOf }, { entryAgent }, { holdChat }] = await Promise.all([
    import("@tessera/runtime"),
    import("./run-remote.ts"),
    import("../chat/chat-session.ts"),
  ]);
  return await withApi(flags, terminal, async (api) => {
    const agent = flags.agent ?? (await entryAgent(api.client, flags.project));
    const { client, clock, renew } = api;
    const agentId = agentIdOf(flags.project, agent, flags.instance);
    return await holdChat({ client, clock, renew, agent, agentId, isKept: true }, flags, terminal);
  });
}

async function placeIn(process: Process, flags: ChatFlags): Promise<ChatPlace> {
  const [{ agentIdOf }, { ownApi }, { entryOf }] = await Promise.all([
    import("@tessera/runtime"),
    import("../connect/with-process.ts"),
    import("./run-here.ts"),
  ]);
  const { bus, store } = process.node;
  const { project, instance } = flags;
  const agent = entryOf(process, flags);
  const agentId = agentIdOf(project, agent, instance);
  const pattern = `cg.v1r4.${project}.*.str.agent.${agentId}.chunk`;
  const decoder = new TextDecoder();
  return {
    ...(await ownApi(process)),
    agent,
    agentId,
    listen: (heard) =>
      bus.subscribe({ pattern }, ({ data }) => heard(JSON.parse(decoder.decode(data)) as ChunkPayload)),
    isKept: store.kind !== "memory",
  };
}
