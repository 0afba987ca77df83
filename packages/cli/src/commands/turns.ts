// tessera turns: ls, show, why and stop; tail is in turns-tail.ts.

import type { Agent, Client, TurnSummary } from "@tessera/client";
import type { Command } from "commander";
import { allPages, itemsOf } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { readChoice, readNumber } from "../flags/flag-values.ts";
import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import { usageError } from "../output/failure.ts";
import { storeWords } from "../output/paste-command.ts";
import { labelled, sentence, type Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { findTurn } from "../turns/find-turn.ts";
import { END_STATUSES, OPEN_STATUSES } from "../turns/turn-document.ts";
import { failuresText, type ListedTurn, turnsTable, turnText } from "../turns/turn-text.ts";
import { followWaits, nextCommand, whySentence } from "../turns/turn-why.ts";
import { agentsOf, nameOf } from "./agents.ts";
import { defineTurnsTail } from "./turns-tail.ts";

interface TurnsLsFlags extends ApiFlags {
  readonly status?: string;
  readonly agent?: string;
  readonly limit: string;
  readonly all?: boolean;
}

interface TurnsShowFlags extends ApiFlags {
  readonly stack?: boolean;
}

interface TurnsStopFlags extends ApiFlags {
  readonly reason?: string;
}

const TURN_STATUSES = [...OPEN_STATUSES, ...END_STATUSES] as const;
const LIMIT_MAX = 1_000_000;
/** Of one page of the API. */
const PAGE_MAX = 200;
const FAILURES_PAGE_MAX = 100;
const REASON_CHARS_MAX = 1_000;

const TURN = "its id, as `turns ls` shows it, or enough of its beginning or end";

const LS_HELP = `
Examples:
  $ tessera turns ls --data ./store
  $ tessera turns ls --status active --agent planner --url http://127.0.0.1:8099`;

const SHOW_HELP = `
With --stack also why calls failed, for each attempt: what was thrown, your own
code's frames first, then its causes. It needs a key of role operator or admin.

Examples:
  $ tessera turns show TURN --data ./store
  $ tessera turns show TURN --stack --url http://127.0.0.1:8099`;

const WHY_HELP = `
One sentence on what the turn waits for in the end, and the command that would
unblock it.

Example:
  $ tessera turns why TURN --data ./store`;

export function defineTurns(turns: Command, parts: ProgramParts): void {
  const { terminal, onExit } = parts;
  const command = (name: string) => addApiFlags(turns.command(name));
  command("ls")
    .description("list turns, newest first")
    .option("--status <status>", "only those: queued, active, success, failed, canceled, timeout, partial, …")
    .option("--agent <name>", "only those of this agent, by its name or id")
    .option("--limit <number>", "how many", "20")
    .option("--all", "all of them")
    .addHelpText("after", LS_HELP)
    .action(async (flags: TurnsLsFlags) => onExit(await turnsLs(flags, terminal)));
  command("show")
    .argument("<turn>", TURN)
    .description("show a turn: what was asked, its calls, what it waits for, what happened, what it delivered")
    .option("--stack", "with the stacks of what failed in it")
    .addHelpText("after", SHOW_HELP)
    .action(async (turn: string, flags: TurnsShowFlags) => onExit(await turnsShow(turn, flags, terminal)));
  defineTurnsTail(command("tail").argument("<turn>", TURN), parts);
  command("why")
    .argument("<turn>", TURN)
    .description("say what a turn waits for, and what would unblock it")
    .addHelpText("after", WHY_HELP)
    .action(async (turn: string, flags: ApiFlags) => onExit(await turnsWhy(turn, flags, terminal)));
  command("stop")
    .argument("<turn>", TURN)
    .description("stop a turn that has not ended, and the turns that it started")
    .option("--reason <text>", "why; kept with the turn")
    .action(async (turn: string, flags: TurnsStopFlags) => onExit(await turnsStop(turn, flags, terminal)));
}

async function turnsLs(flags: TurnsLsFlags, terminal: Terminal): Promise<ExitCode> {
  const status = flags.status === undefined ? undefined : readChoice("--status", flags.status, TURN_STATUSES);
  const limit = flags.all === true ? LIMIT_MAX : readNumber("--limit", flags.limit, { min: 1, max: LIMIT_MAX });
  const { turns, hasMore } = await withApi(flags, terminal, async ({ client }) => {
    let hasMore = false;
    const turns = await listOfProject(flags.project, async () => {
      const found = await listTurns(client, flags, status, limit);
      hasMore = found.hasMore;
      return found.turns;
    });
    return { turns, hasMore };
  });
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    const listed = turns.map(({ agentName, ...turn }) => ({
      ...wireDocument("TurnSummary", turn),
      agent_name: agentName,
    }));
    terminal.out(`${JSON.stringify({ ok: true, project: flags.project, turns: listed, has_more: hasMore })}\n`);
  } else if (turns.length > 0) {
    terminal.out(turnsTable(turns));
    if (hasMore) terminal.err(`  there are more: --limit N, or --all\n`);
  } else {
    const of = [status, flags.agent === undefined ? undefined : `of ${flags.agent}`].filter(
      (part) => part !== undefined,
    );
    terminal.out(`project ${flags.project} has no turns${of.length === 0 ? "" : ` that are ${of.join(" and ")}`}\n`);
    const ask = ["tessera run --input TEXT", ...storeWords(flags)].join(" ");
    if (of.length === 0) terminal.err([labelled("what to do", "Ask for one: ", { whole: ask })]);
  }
  return EXIT.ok;
}

/** Newest first; with the names of their agents, which the list of the API does not have. */
async function listTurns(
  client: Client,
  { project, agent }: TurnsLsFlags,
  status: (typeof TURN_STATUSES)[number] | undefined,
  limit: number,
): Promise<{ turns: ListedTurn[]; hasMore: boolean }> {
  const agents = await agentsOf(client, project);
  const names = new Map(agents.map((each) => [each.agentId, nameOf(each)]));
  const wanted = agent === undefined ? [undefined] : agents.filter((each) => isCalled(each, agent)).map(idOf);
  const filter = status === undefined ? {} : { status };
  const lists = [];
  for (const agentId of wanted) {
    lists.push(await firstTurns(client, { project, ...filter, ...(agentId === undefined ? {} : { agentId }) }, limit));
  }
  const all = lists.flatMap(({ turns }) => turns).toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  const turns = all.slice(0, limit).map((turn) => ({ ...turn, agentName: names.get(turn.agentId) ?? null }));
  return { turns, hasMore: all.length > limit || lists.some(({ hasMore }) => hasMore) };
}

async function firstTurns(
  client: Client,
  order: { readonly project: string; readonly status?: (typeof TURN_STATUSES)[number]; readonly agentId?: string },
  limit: number,
): Promise<{ turns: TurnSummary[]; hasMore: boolean }> {
  const turns: TurnSummary[] = [];
  for (let cursor: string | null | undefined; cursor !== null; ) {
    const page: Awaited<ReturnType<Client["listTurns"]>> = await client.listTurns({
      ...order,
      limit: Math.min(PAGE_MAX, limit - turns.length),
      ...(cursor === undefined ? {} : { cursor }),
    });
    turns.push(...itemsOf(page, "turns"));
    cursor = page.nextCursor ?? null;
    if (turns.length >= limit) return { turns, hasMore: cursor !== null };
  }
  return { turns, hasMore: false };
}

function isCalled(agent: Agent, wanted: string): boolean {
  return agent.agentId === wanted || nameOf(agent) === wanted;
}

function idOf({ agentId }: Agent): string {
  return agentId;
}

async function turnsShow(given: string, flags: TurnsShowFlags, terminal: Terminal): Promise<ExitCode> {
  const { turn, failures } = await withApi(flags, terminal, async ({ client }) => {
    const turn = await findTurn(client, flags, given);
    const order = { project: flags.project, turn: turn.agentTurnId, limit: FAILURES_PAGE_MAX };
    const read = (page: { readonly cursor?: string }) => client.listTurnFailures({ ...order, ...page });
    return { turn, failures: flags.stack === true ? await allPages("failures", read) : undefined };
  });
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    const document = wireDocument("Turn", turn);
    const told = failures?.map((failure) => wireDocument("TurnFailure", failure));
    terminal.out(`${JSON.stringify({ ok: true, turn: document, failures: told })}\n`);
  } else terminal.out([turnText(turn), ...(failures === undefined ? [] : [failuresText(failures)])].flat());
  return EXIT.ok;
}

async function turnsWhy(given: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const { why, isAbandoned, isShared } = await withApi(flags, terminal, async ({ client, reached, isAbandoned }) => {
    const { agentTurnId } = await findTurn(client, flags, given);
    const isShared = reached === "own" && !isAbandoned;
    return { why: await followWaits(client, flags.project, agentTurnId), isAbandoned, isShared };
  });
  const because = whySentence(why, isAbandoned);
  const { says, command } = nextCommand(why, flags, isAbandoned, isShared, terminal.env);
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    const { path, wait } = why;
    const [asked] = path;
    const facts = { agent_turn_id: asked?.agentTurnId, status: asked?.status, why: because, next: says, command };
    const last = wait === null ? null : wireDocument("Wait", wait);
    const followed = path.map(({ agentTurnId }) => agentTurnId);
    terminal.out(`${JSON.stringify({ ok: true, ...facts, path: followed, wait: last })}\n`);
  } else terminal.out([sentence(because), labelled("what to do", `${says}: `, { whole: command })]);
  return EXIT.ok;
}

async function turnsStop(given: string, flags: TurnsStopFlags, terminal: Terminal): Promise<ExitCode> {
  const { reason } = flags;
  if (reason !== undefined && reason.length > REASON_CHARS_MAX) {
    throw usageError(`--reason has at most ${REASON_CHARS_MAX} characters`);
  }
  const stopped = await withApi(flags, terminal, async ({ client }) =>
    client.stopTurn({
      project: flags.project,
      turn: (await findTurn(client, flags, given)).agentTurnId,
      body: reason === undefined ? {} : { reason },
    }),
  );
  const { agentTurnId, was } = stopped;
  if (flags.json === true) {
    const { wireDocument } = await import("@tessera/client");
    terminal.out(`${JSON.stringify({ ok: true, ...wireDocument("StoppedTurn", stopped) })}\n`);
  } else terminal.out(`stopped ${agentTurnId}${was === undefined ? "" : `, which was ${was}`}\n`);
  return EXIT.ok;
}
