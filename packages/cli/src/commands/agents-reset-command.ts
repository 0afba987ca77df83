// tessera agents reset: an instance begins its conversation anew.
//
//   A1. Asks nothing: nothing is deleted, and a running turn goes on as it began.

import { wireDocument } from "@tessera/client";
import { agentIdOf } from "@tessera/runtime";
import { withApi } from "../connect/connection.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { storeWords } from "../output/paste-command.ts";
import type { Terminal } from "../output/printing-gate.ts";

export interface AgentsResetFlags extends ApiFlags {
  readonly instance: string;
  readonly reason?: string;
}

const REASON_CHARS_MAX = 1_000;

export async function agentsResetCommand(name: string, flags: AgentsResetFlags, terminal: Terminal): Promise<ExitCode> {
  const { project, instance, reason } = flags;
  if (reason !== undefined && reason.length > REASON_CHARS_MAX) {
    throw usageError(`--reason has at most ${REASON_CHARS_MAX} characters`);
  }
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
  const facts = { agent: name, instance_key: instance, ...wireDocument("ConversationReset", reset) };
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, ...facts })}\n`);
  else
    terminal.out(
      `reset ${name} (${instance}): from turn ${reset.conversationFrom} on it remembers nothing from before\n`,
    );
  return EXIT.ok;
}
