// Why a turn has not ended: one sentence about what it waits for in the end, and the command that would unblock it.
//
//   Y1. A turn that waits for others is followed down to one that waits for something else, at most DEPTH_MAX turns, and
//       never in a circle.
//   Y2. Of several waits the one that needs an action of a person comes first.
//   Y3. Turns in a directory that no process holds are abandoned: whatever they wait for, a process has to open it again.

import type { Client, Turn, Wait } from "@tessera/client";
import type { ApiFlags } from "../flags/flags.ts";
import { storeWords } from "../output/paste-command.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { agentOf, isEnded, isOpen, reasonOf, waitsOf } from "./turn-document.ts";

export interface Why {
  /** From the turn that was asked about to the one where the wait is. */
  readonly path: readonly Turn[];
  /** Null: the last turn of the path has ended. */
  readonly wait: Wait | null;
}

const DEPTH_MAX = 20;
/** Y2: first what does not change without an action of a person. */
const MOST_TELLING: readonly Wait["code"][] = [
  "no_executor",
  "no_worker",
  "queued_behind",
  "children",
  "retry",
  "executor",
  "local_tool",
  "result_ready",
  "working",
];

export async function followWaits(client: Pick<Client, "getTurn">, project: string, turn: string): Promise<Why> {
  const path: Turn[] = [];
  const seen = new Set<string>();
  for (let next: string | undefined = turn; next !== undefined; ) {
    const document: Turn = await client.getTurn({ project, turn: next });
    seen.add(next);
    path.push(document);
    const wait = mostTelling(document);
    const behind = path.length < DEPTH_MAX ? await openOne(client, project, document, wait, seen) : undefined; // Y1
    if (behind === undefined) return { path, wait };
    next = behind;
  }
  return { path, wait: null };
}

/** Y2 */
export function mostTelling(turn: Pick<Turn, "waitingFor" | "calls">): Wait | null {
  const rank = ({ code }: Wait) => MOST_TELLING.indexOf(code);
  return waitsOf(turn).toSorted((a, b) => rank(a) - rank(b))[0] ?? null;
}

/** A turn that is waited for and has not ended: of the children as the document has them, of others as they are now. */
async function openOne(
  client: Pick<Client, "getTurn">,
  project: string,
  { children }: Turn,
  wait: Wait | null,
  seen: ReadonlySet<string>,
): Promise<string | undefined> {
  for (const turn of wait?.agentTurnIds ?? []) {
    if (seen.has(turn)) continue;
    const child = children.find(({ agentTurnId }) => agentTurnId === turn);
    if (child === undefined ? !isEnded(await client.getTurn({ project, turn })) : isOpen(child.status)) return turn;
  }
  return undefined;
}

/** The sentence, without the command. */
export function whySentence({ path, wait }: Why, isAbandoned: boolean): string {
  const [asked, ...behind] = path;
  const last = path.at(-1);
  if (asked === undefined || last === undefined) return "";
  if (isEnded(asked)) return endedSentence(asked);
  const who = `The turn of ${agentOf(asked)}`;
  if (isAbandoned) return `${who} has not ended: no process holds its store, so no worker runs it.`; // Y3
  const chain = behind.map((turn) => `the turn ${turn.agentTurnId} of ${agentOf(turn)}`).join(", which waits for ");
  const says = wait === null ? (last.why ?? `it is ${last.status}`) : reasonOf(wait);
  const until = wait?.deadlineAt === undefined ? "" : `, until ${wait.deadlineAt} at the latest`;
  const ifGone = wait === null ? "" : leaseText(wait, last);
  const bound = wait?.boundedBy === undefined ? "" : ` What bounds this wait: ${wait.boundedBy}.`;
  if (chain === "") return `${who} has not ended: ${says}${until}${ifGone}.${bound}`;
  return `${who} waits for ${chain}, which has not ended: ${says}${until}${ifGone}.${bound}`;
}

/** Whether an executor is still there is not known before its lease is over. */
function leaseText({ code, toolCallId }: Wait, { calls }: Turn): string {
  const call = calls.find((each) => each.toolCallId === toolCallId);
  if (code !== "executor" || call === undefined || call.leaseUntil === null) return "";
  const then = call.effect === "once" ? "the outcome of the call is unknown then" : "the call is queued again then";
  return `; its lease runs until ${call.leaseUntil}: if it is gone, ${then}`;
}

function endedSentence(turn: Turn): string {
  const { status, errorCode, errorMessage, endedAt } = turn;
  const error = typeof errorCode === "string" ? `, with ${errorCode}: ${errorMessage ?? "no reason was given"}` : "";
  return `The turn of ${agentOf(turn)} ended at ${endedAt} (${status})${error}.`;
}

interface NextCommand {
  readonly says: string;
  /** To paste. */
  readonly command: string;
}

/** What would unblock it. Others can join a PostgreSQL store, whether a flag or the environment names it (`isShared`). */
export function nextCommand(
  { path, wait }: Why,
  flags: ApiFlags,
  isAbandoned: boolean,
  isShared = flags.postgres !== undefined,
  env: Terminal["env"] = {},
): NextCommand {
  const last = path.at(-1);
  const turnId = last?.agentTurnId ?? "";
  const command = (...words: string[]) => ["tessera", ...words, ...storeWords(flags, env)].join(" ");
  if (last === undefined || isEnded(last)) return { says: "See what it did", command: command("turns show", turnId) };
  if (isAbandoned) return { says: "Let it go on", command: command("run BUNDLE --resume") }; // Y3
  // A process that serves an API takes in executors with a key, and has its own workers.
  switch (wait?.code) {
    case "no_executor": {
      const says = `Start an executor of ${wait.target ?? "its target"}`;
      if (isShared) return { says, command: command("start BUNDLE --role tools") };
      return {
        says: `${says}, with a key`,
        command: command("keys create --role executor --target", wait.target ?? "NAME"),
      };
    }
    case "no_worker":
    case "result_ready": {
      if (isShared) return { says: "Start a worker, if none runs", command: command("start BUNDLE --role worker") };
      const says = "Start the process again with the role worker, if it has not got it";
      // Where it is reached by its URL, only the person who started it knows its store.
      const place = storeWords(
        flags.data === undefined ? { project: flags.project } : { data: flags.data, project: flags.project },
      );
      return { says, command: ["tessera start BUNDLE --role kernel,worker,pmo,tools,api", ...place].join(" ") };
    }
    case "queued_behind": {
      const ahead = wait.agentTurnIds?.[0];
      const words = ahead === undefined ? ["turns ls --status active"] : ["turns stop", ahead];
      return { says: "Wait, or stop the turn before it", command: command(...words) };
    }
    default: {
      const until = wait?.deadlineAt === undefined ? "" : ` until ${wait.deadlineAt}`;
      return { says: `Wait${until}, or stop it`, command: command("turns stop", turnId) };
    }
  }
}
