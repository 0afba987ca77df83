// tessera chat: where the conversation is. In this process, with everything it needs, as `tessera run`; or on a running server.
//
//   C1. Text is printed as the model writes it where this process thinks. From a server it comes step by step.

import type { ChunkPayload } from "@tessera/protocol";
import { API_HOST, agentIdOf, type Process } from "@tessera/runtime";
import { bundleHere } from "../commands/bundle-here.ts";
import { addressOf, entryOf } from "../commands/run-command.ts";
import { checkPlace, entryAgent, isRemote } from "../commands/run-remote.ts";
import { type Api, clientOf, startedHolder, withApi } from "../connect/connection.ts";
import { withProcess } from "../connect/with-process.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { HostFlags } from "../flags/flags.ts";
import { hostSettings } from "../flags/host-settings.ts";
import { ROLES } from "../flags/roles.ts";
import { errorWithTodo } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { chat } from "./chat-session.ts";

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
  /** Hears what models write until it is stopped; absent: it cannot be heard from here (C1). */
  readonly listen?: (heard: (chunk: ChunkPayload) => void) => Promise<{ stop(): Promise<void> }>;
  /** Whether turns outlive this process. */
  readonly isKept: boolean;
}

const CLOSE_GRACE_MS = 1_000;

export async function chatCommand(given: string | undefined, raw: ChatFlags, terminal: Terminal): Promise<ExitCode> {
  checkPlace(given, raw);
  const here = given ?? bundleHere();
  const { flags, values } = await hostSettings(raw, terminal, { bundle: here });
  if (await isRemote(given, flags)) return await chatRemotely(flags, terminal);
  if (here === undefined) {
    const todo = "Name a directory with a tessera.yaml, goondan.yaml or tessera.config.ts.";
    throw errorWithTodo("E_CONFIG_ENTRY_NOT_FOUND", "there is no bundle in this directory", todo, EXIT.configuration);
  }
  const settings = { ...values, port: 0, host: API_HOST, api_key: undefined };
  const options = { roles: ROLES, onLog: () => undefined };
  try {
    return await withProcess(
      { flags, settings, terminal, bundle: here, isThrowAway: true, graceMs: CLOSE_GRACE_MS, options },
      async (process) => await chat(await placeIn(process, flags), flags, terminal),
    );
  } catch (error) {
    if ((await startedHolder(error, flags, terminal)) === null || !(await isRemote(given, flags))) throw error;
    return await chatRemotely(flags, terminal);
  }
}

async function chatRemotely(flags: ChatFlags, terminal: Terminal): Promise<ExitCode> {
  return await withApi(flags, terminal, async (api) => {
    const agent = flags.agent ?? (await entryAgent(api.client, flags.project));
    const { client, clock, renew } = api;
    const more = renew === undefined ? {} : { renew };
    const agentId = agentIdOf(flags.project, agent, flags.instance);
    return await chat({ client, clock, ...more, agent, agentId, isKept: true }, flags, terminal);
  });
}

async function placeIn(process: Process, flags: ChatFlags): Promise<ChatPlace> {
  const { bus, store } = process.node;
  const { project, instance } = flags;
  const agent = entryOf(process, flags);
  const agentId = agentIdOf(project, agent, instance);
  const pattern = `cg.v1r4.${project}.*.str.agent.${agentId}.chunk`;
  const decoder = new TextDecoder();
  return {
    ...(await clientOf(addressOf(process))),
    agent,
    agentId,
    listen: (heard) =>
      bus.subscribe({ pattern }, ({ data }) => heard(JSON.parse(decoder.decode(data)) as ChunkPayload)),
    isKept: store.kind !== "memory",
  };
}
