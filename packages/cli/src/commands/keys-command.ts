// tessera keys create, ls, rm: API keys of a store. The text of a key is shown once, when it is made.

import { type ApiKey, wireDocument } from "@tessera/client";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { inNewProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { checkId, readChoice, readNumber } from "../flags/flag-values.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { isNotFound } from "../output/api-failure.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import { labelled, sentence, type Terminal } from "../output/printing-gate.ts";

export interface KeyListFlags extends ApiFlags {
  readonly allProjects?: boolean;
}

export interface KeyFlags extends KeyListFlags {
  readonly role: string;
  readonly target?: readonly string[];
  readonly label?: string;
  readonly expiresDays?: string;
}

const API_KEY_ROLES = ["viewer", "operator", "executor", "admin"] as const;
const DAY_SECONDS = 86_400;
const LABEL_CHARS_MAX = 200;
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

export async function keysLsCommand(flags: KeyListFlags, terminal: Terminal): Promise<ExitCode> {
  const all = await withApi(flags, terminal, ({ client }) => allPages("keys", (page) => client.listKeys(page)));
  // A key of no project counts in each.
  const counts = ({ projectId }: ApiKey) => projectId === null || projectId === flags.project;
  const keys = flags.allProjects === true ? all : all.filter(counts);
  if (flags.json === true)
    terminal.out(`${JSON.stringify({ ok: true, keys: keys.map((key) => wireDocument("ApiKey", key)) })}\n`);
  else if (keys.length > 0) terminal.out([{ rows: keys.map(keyRow) }]);
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

export async function keysRmCommand(given: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  // Who pastes the whole key means its id; the rest of it is not needed, and not repeated.
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
