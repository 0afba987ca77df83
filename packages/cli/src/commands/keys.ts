// tessera keys create, ls, rm: API keys of a store. The text of a key is shown once, when it is made.

import type { ApiKey } from "@tessera/client";
import type { Command } from "commander";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { inNewProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkId, readChoice, readNumber } from "../flags/flag-values.ts";
import { type ApiFlags, addApiFlags, collect } from "../flags/flags.ts";
import { API_KEY_ROLES } from "../flags/roles.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { labelled, sentence, type Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";

interface KeyListFlags extends ApiFlags {
  readonly allProjects?: boolean;
}

interface KeyFlags extends KeyListFlags {
  readonly role: string;
  readonly target?: readonly string[];
  readonly label?: string;
  readonly expiresDays?: string;
}

const DAY_SECONDS = 86_400;
const LABEL_CHARS_MAX = 200;
const DAYS_MAX = 3_650;
const KEY_TEXT = /^tsk_([^.]+)\./;

const CREATE_HELP = `
The key is printed on stdout, once; the store keeps only its hash.

Examples:
  $ tessera keys create --role executor --target words --data ./store
  $ tessera keys create --role admin --all-projects --expires-days 30 --data ./store`;

export function defineKeys(keys: Command, { terminal, onExit }: ProgramParts): void {
  addApiFlags(keys.command("create"))
    .description("make a key and print it once")
    .requiredOption("--role <role>", "viewer, operator, executor or admin")
    .option("--target <name>", "whose calls an executor may take; may be repeated", collect)
    .option("--label <text>", "what it is for")
    .option("--expires-days <number>", "after how many days it ends (default: never)")
    .option("--all-projects", "for every project instead of --project")
    .addHelpText("after", CREATE_HELP)
    .action(async (flags: KeyFlags) => onExit(await keysCreate(flags, terminal)));
  addApiFlags(keys.command("ls"))
    .description("list the keys that count in a project")
    .option("--all-projects", "list the keys of all projects")
    .action(async (flags: KeyListFlags) => onExit(await keysLs(flags, terminal)));
  addApiFlags(keys.command("rm"))
    .argument("<key-id>", "as `keys ls` shows it")
    .description("revoke a key")
    .action(async (keyId: string, flags: ApiFlags) => onExit(await keysRm(keyId, flags, terminal)));
}

async function keysCreate(flags: KeyFlags, terminal: Terminal): Promise<ExitCode> {
  const role = readChoice("--role", flags.role, API_KEY_ROLES);
  const { target: targets = [], label } = flags;
  if (role === "executor" && targets.length === 0) {
    throw usageError("an executor's key needs at least one --target NAME: whose calls it may take");
  }
  if (role !== "executor" && targets.length > 0) {
    throw usageError(`only an executor has a --target, and the role is ${role}`);
  }
  for (const target of targets) checkId("--target", target);
  if (label !== undefined && (label.length > LABEL_CHARS_MAX || /\p{Cc}/u.test(label))) {
    throw usageError(`--label must be one line of at most ${LABEL_CHARS_MAX} characters`);
  }
  const days =
    flags.expiresDays === undefined ? null : readNumber("--expires-days", flags.expiresDays, { min: 1, max: DAYS_MAX });
  const projectId = flags.allProjects === true ? null : flags.project;
  const body = {
    role,
    projectId,
    ...(targets.length === 0 ? {} : { targets: [...targets] }),
    ...(label === undefined ? {} : { label }),
    ...(days === null ? {} : { expiresInSeconds: days * DAY_SECONDS }),
  };
  const { keyId, key: text } = await withApi(flags, terminal, ({ client }) =>
    inNewProject(client, flags, terminal, () => client.createKey({ body })),
  );
  if (flags.json === true)
    terminal.out(`${JSON.stringify({ ok: true, key_id: keyId, key: text, role, project_id: projectId })}\n`);
  else {
    terminal.out(`${text}\n`);
    const where = projectId === null ? "all projects" : `project ${projectId}`;
    terminal.err([sentence(`made key ${keyId}: ${role} of ${where}; its text is shown this once and kept nowhere`)]);
  }
  return EXIT.ok;
}

async function keysLs(flags: KeyListFlags, terminal: Terminal): Promise<ExitCode> {
  const all = await withApi(flags, terminal, ({ client }) => allPages("keys", (page) => client.listKeys(page)));
  // A key of no project counts in each.
  const counts = ({ projectId }: ApiKey) => projectId === null || projectId === flags.project;
  const keys = flags.allProjects === true ? all : all.filter(counts);
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    terminal.out(`${JSON.stringify({ ok: true, keys: keys.map((key) => wireDocument("ApiKey", key)) })}\n`);
  } else if (keys.length > 0) terminal.out([{ rows: keys.map(keyRow) }]);
  else {
    const where = flags.allProjects === true ? "this store" : `project ${flags.project}`;
    terminal.out(`${where} has no keys\n`);
    terminal.err([
      labelled("what to do", "Make one: ", { whole: "tessera keys create --role executor --target NAME" }),
    ]);
  }
  return EXIT.ok;
}

function keyRow({ keyId, role, projectId, targets, label, expiresAt, revokedAt, createdAt, lastUsedAt }: ApiKey) {
  return {
    key_id: keyId,
    role,
    project: projectId ?? "(all)",
    targets: Array.isArray(targets) && targets.length > 0 ? targets.join(",") : null,
    state: revokedAt !== null ? "revoked" : expiresAt === null ? "good" : `until ${expiresAt}`,
    created_at: createdAt,
    last_used_at: lastUsedAt,
    label: label === "" ? null : label,
  };
}

async function keysRm(given: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  // A person who pastes the whole key means its id; the rest of it is not needed, and not repeated.
  const key_id = KEY_TEXT.exec(given)?.[1] ?? given;
  checkId("<key-id>", key_id);
  await withApi(flags, terminal, async ({ client }) => {
    try {
      await client.revokeKey({ key: key_id });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const todo = "See the keys there are: tessera keys ls --all-projects.";
      throw errorWithTodo("not_found", `this store has no key ${key_id}`, todo);
    }
  });
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, revoked: key_id })}\n` : `revoked ${key_id}\n`);
  return EXIT.ok;
}
