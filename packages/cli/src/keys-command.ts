// tessera keys create, ls, rm: API keys of a store. The text of a key is shown once, when it is made.

import { BadRequest, errorOf } from "@tessera/protocol";
import { API_KEY_ROLES, type ApiKeyRole } from "@tessera/runtime";
import { alignRows } from "./align-rows.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./run-cli.ts";
import { type ProjectFlags, withNode } from "./tool-flags.ts";

export interface KeyFlags extends ProjectFlags {
  readonly role: string;
  readonly target?: readonly string[];
  readonly label?: string;
  readonly expiresDays?: string;
  readonly allProjects?: boolean;
}

const DAY_MS = 86_400_000;

export async function keysCreateCommand(flags: KeyFlags, terminal: Terminal): Promise<ExitCode> {
  const role = API_KEY_ROLES.find((each) => each === flags.role);
  if (role === undefined)
    throw new BadRequest(`--role must be one of ${API_KEY_ROLES.join(", ")}; it is ${flags.role}`);
  const days = flags.expiresDays === undefined ? null : Number(flags.expiresDays);
  if (days !== null && !(days > 0 && days <= 3_650)) throw new BadRequest("--expires-days must be from 1 to 3650");
  const outcome = await withNode(flags, terminal, { sweep: false }, async (node) => {
    const project_id = flags.allProjects === true ? null : flags.project;
    const isMissing = project_id !== null && (await node.kernel.reads.project(project_id)) === null;
    if (isMissing) await node.kernel.putProject({ project_id: project_id ?? "" });
    return await node.kernel.createApiKey({
      role: role as ApiKeyRole,
      project_id,
      ...(flags.target === undefined ? {} : { targets: flags.target }),
      ...(flags.label === undefined ? {} : { label: flags.label }),
      ...(days === null ? {} : { expires_in_ms: Math.round(days * DAY_MS) }),
    });
  });
  if (outcome.outcome === "rejected") {
    const why = role === "executor" ? "an executor needs at least one --target" : "only an executor has a --target";
    throw errorOf(outcome.code, `the key was not made: ${why}`);
  }
  const { key_id, text } = outcome;
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, key_id, key: text, role })}\n`);
  else {
    terminal.out(`${text}\n`);
    terminal.err(`key ${key_id} of role ${role} was made; its text is shown this once and kept nowhere\n`);
  }
  return EXIT.ok;
}

export async function keysLsCommand(flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const keys = await withNode(flags, terminal, { sweep: false }, (node) => node.kernel.reads.apiKeys(flags.project));
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, keys })}\n`);
  else if (keys.length === 0) {
    terminal.out("there are no keys\n  what to do  Make one: tessera keys create --role executor --target NAME\n");
  } else terminal.out(alignRows(keys));
  return EXIT.ok;
}

export async function keysRmCommand(keyId: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const outcome = await withNode(flags, terminal, { sweep: false }, (node) =>
    node.kernel.revokeApiKey({ key_id: keyId }),
  );
  if (outcome.outcome === "rejected") throw errorOf(outcome.code, `key ${keyId} was not revoked`);
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, revoked: keyId })}\n` : `revoked ${keyId}\n`);
  return EXIT.ok;
}
