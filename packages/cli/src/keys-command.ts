// tessera keys create, ls, rm: API keys of a store. The text of a key is shown once, when it is made.

import { errorOf } from "@tessera/protocol";
import { API_KEY_ROLES } from "@tessera/runtime";
import { alignRows } from "./align-rows.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { errorWithTodo, usageError } from "./failure.ts";
import { checkId, readChoice, readNumber } from "./flag-values.ts";
import type { ProjectFlags } from "./flags.ts";
import type { Terminal } from "./run-cli.ts";
import { LOOKING, WRITING, withNode } from "./with-node.ts";

export interface KeyListFlags extends ProjectFlags {
  readonly allProjects?: boolean;
}

export interface KeyFlags extends KeyListFlags {
  readonly role: string;
  readonly target?: readonly string[];
  readonly label?: string;
  readonly expiresDays?: string;
}

const DAY_MS = 86_400_000;
const DAYS_MAX = 3_650;
const KEY_TEXT = /^tsk_([^.]+)\./;

export async function keysCreateCommand(flags: KeyFlags, terminal: Terminal): Promise<ExitCode> {
  const role = readChoice("--role", flags.role, API_KEY_ROLES);
  const { target: targets = [], label } = flags;
  if (role === "executor" && targets.length === 0) {
    throw usageError("an executor's key needs at least one --target NAME: whose calls it may take");
  }
  if (role !== "executor" && targets.length > 0) {
    throw usageError(`only an executor has a --target, and the role is ${role}`);
  }
  for (const target of targets) checkId("--target", target);
  const days =
    flags.expiresDays === undefined ? null : readNumber("--expires-days", flags.expiresDays, { min: 1, max: DAYS_MAX });
  const project_id = flags.allProjects === true ? null : flags.project;
  const outcome = await withNode(flags, terminal, WRITING, async ({ kernel }) => {
    if (project_id !== null && (await kernel.reads.project(project_id)) === null)
      await kernel.putProject({ project_id });
    return await kernel.createApiKey({
      role,
      project_id,
      ...(targets.length === 0 ? {} : { targets }),
      ...(label === undefined ? {} : { label }),
      ...(days === null ? {} : { expires_in_ms: days * DAY_MS }),
    });
  });
  if (outcome.outcome === "rejected") {
    const why = label === undefined ? "" : "; a label is one line of at most 200 characters";
    throw errorOf(outcome.code, `the key was not made${why}`);
  }
  const { key_id, text } = outcome;
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, key_id, key: text, role, project_id })}\n`);
  else {
    terminal.out(`${text}\n`);
    const where = project_id === null ? "all projects" : `project ${project_id}`;
    terminal.err(`made key ${key_id}: ${role} of ${where}; its text is shown this once and kept nowhere\n`);
  }
  return EXIT.ok;
}

export async function keysLsCommand(flags: KeyListFlags, terminal: Terminal): Promise<ExitCode> {
  const keys = await withNode(flags, terminal, LOOKING, async ({ kernel }) => {
    const all = await kernel.reads.apiKeys(null);
    if (flags.allProjects === true) return all;
    // A key of no project counts in each; asked for apart, because the list of all is cut at its limit.
    const ofNone = all.filter(({ project_id }) => project_id === null);
    return [...(await kernel.reads.apiKeys(flags.project)), ...ofNone];
  });
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, keys })}\n`);
  else if (keys.length > 0) terminal.out(alignRows(keys.map(keyRow)));
  else {
    const where = flags.allProjects === true ? "this store" : `project ${flags.project}`;
    terminal.out(`${where} has no keys\n`);
    terminal.err("  what to do  Make one: tessera keys create --role executor --target NAME\n");
  }
  return EXIT.ok;
}

function keyRow(key: Readonly<Record<string, unknown>>) {
  const { key_id, role, project_id, targets, label, expires_at, revoked_at, created_at, last_used_at } = key;
  return {
    key_id,
    role,
    project: project_id ?? "(all)",
    targets: Array.isArray(targets) && targets.length > 0 ? targets.join(",") : null,
    state: revoked_at !== null ? "revoked" : expires_at === null ? "good" : `until ${expires_at}`,
    created_at,
    last_used_at,
    label: label === "" ? null : label,
  };
}

export async function keysRmCommand(given: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  // Who pastes the whole key means its id; the rest of it is not needed, and not repeated.
  const key_id = KEY_TEXT.exec(given)?.[1] ?? given;
  checkId("<key-id>", key_id);
  const outcome = await withNode(flags, terminal, LOOKING, ({ kernel }) => kernel.revokeApiKey({ key_id }));
  if (outcome.outcome === "rejected") {
    const todo = "See the keys there are: tessera keys ls --all-projects.";
    if (outcome.code === "not_found") throw errorWithTodo("not_found", `this store has no key ${key_id}`, todo);
    throw errorOf(outcome.code, `key ${key_id} was not revoked`);
  }
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, revoked: key_id })}\n` : `revoked ${key_id}\n`);
  return EXIT.ok;
}
