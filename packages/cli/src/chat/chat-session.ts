// A conversation in the terminal: what was said before, then line by line.
//
//   S1. A line is a turn, committed before anything else is done with it: what happens to this process loses none. Lines are asked for
//       in the order in which they were typed.
//   S2. One turn is watched at a time, in the order of the agent's queue. Those that an earlier process left open come first.
//   S3. Ctrl-C while a turn runs asks a person what to do with it; where none can answer, and everywhere else, it ends the chat. What
//       is open then goes on, if it is kept.
//   S4. /reset keeps its place in the order: while turns of earlier lines run, the next line begins the conversation anew instead,
//       since a reset now would take the memory of those turns, too.
//   S5. A line that the server refuses is reported, and the chat goes on.

import type { ChatFlags, ChatPlace } from "../commands/chat.ts";
import { listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { isApiProblem } from "../output/api-failure.ts";
import { storeWords } from "../output/paste-command.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { openWatch, type Past } from "../progress/watch-turns.ts";
import { answerOf, exitCodeOf, type TurnAnswer } from "../turns/turn-answer.ts";
import { isEnded } from "../turns/turn-document.ts";
import { type ChatPrinter, createChatPrinter } from "./chat-printer.ts";

type Heard =
  | { readonly kind: "line"; readonly line: string }
  | { readonly kind: "end" }
  | { readonly kind: "interrupt" }
  | { readonly kind: "ended"; readonly answer: TurnAnswer | null }
  | { readonly kind: "failed"; readonly error: unknown };

interface Asked {
  readonly turnId: string;
  readonly past: Past;
}

const HISTORY_MAX = 10;
const HELP =
  "/fresh: the next line begins anew. /reset: begin anew now. /exit: leave. Everything else goes to the agent.";
const QUESTION = "\nstop the turn (s), leave it running (l), or go on (g)? ";

export async function holdChat(place: ChatPlace, flags: ChatFlags, terminal: Terminal): Promise<ExitCode> {
  const { client, agent, agentId } = place;
  const { project, instance } = flags;
  const printer = createChatPrinter(terminal, { isJson: flags.json === true, agent });
  const inbox = createInbox<Heard>();
  const canAsk = terminal.isInputWatched === true && flags.json !== true;
  const queue: Asked[] = [];
  const codes: ExitCode[] = [];
  let running: { readonly turnId: string; readonly leave: AbortController } | null = null;
  let isAsking = false;
  let isInputOver = false;
  let isFresh = flags.fresh === true;
  let turns = 0;

  const isBusy = () => running !== null || queue.length > 0;

  async function take(line: string): Promise<"exit" | undefined> {
    const text = line.trim();
    if (text === "") return undefined;
    if (text === "/exit") return "exit";
    if (text === "/help") printer.tell({ event: "help", text: HELP }, HELP);
    else if (text === "/fresh" || (text === "/reset" && isBusy())) {
      isFresh = true; // S4
      printer.tell({ event: "fresh" }, "the next line begins the conversation anew");
    } else if (text === "/reset") await reset();
    else if (/^\/\w+$/.test(text)) printer.tell({ event: "help", text: HELP }, `there is no ${text}. ${HELP}`);
    else await say(line);
    return undefined;
  }

  async function reset(): Promise<void> {
    const done = await orTold(printer, () => client.resetAgent({ project, agent: agentId, body: {} }));
    if (done === null) return;
    printer.tell(
      { event: "reset", conversation_from: done.conversationFrom },
      "reset: it remembers nothing from before",
    );
  }

  /** S1 */
  async function say(input: string): Promise<void> {
    const body = { agent, instanceKey: instance, input, ...(isFresh ? { isFresh: true } : {}) };
    const turn = await orTold(printer, () => client.enqueueTurn({ project, body }));
    if (turn === null) return;
    isFresh = false;
    turns += 1;
    const { agentTurnId } = turn;
    const is_queued = isBusy();
    queue.push({ turnId: agentTurnId, past: "none" });
    const event = { event: "asked", agent_turn_id: agentTurnId, input, is_queued };
    if (is_queued) printer.tell(event, "queued behind the turns before it");
    else if (flags.json === true) printer.tell(event, "");
  }

  /** S2 */
  function begin({ turnId, past }: Asked): void {
    const leave = new AbortController();
    running = { turnId, leave };
    printer.begin(turnId);
    const watch = openWatch(place, { flags, terminal, until: null, signal: leave.signal, printer });
    watch
      .turns([turnId], past)
      .finally(() => watch.close())
      .then(
        ({ answers: [answer = null] }) => inbox.put({ kind: "ended", answer }),
        (error: unknown) => inbox.put({ kind: "failed", error }),
      );
  }

  /** What a person wants done with the turn that runs (S3). */
  async function decide(line: string): Promise<void> {
    const wanted = line.trim().toLowerCase().slice(0, 1);
    if (!["s", "l", "g"].includes(wanted)) {
      terminal.err(QUESTION.trimStart());
      return;
    }
    isAsking = false;
    const turn = running?.turnId;
    if (wanted === "s" && turn !== undefined) await orTold(printer, () => client.stopTurn({ project, turn, body: {} }));
    if (wanted === "l") {
      running?.leave.abort();
      printer.tell({ event: "left", agent_turn_id: turn }, "it goes on; your next line is queued behind it");
    }
    printer.release();
  }

  async function hear(message: Heard): Promise<"exit" | undefined> {
    switch (message.kind) {
      case "line":
        if (!isAsking) return await take(message.line);
        await decide(message.line);
        return undefined;
      case "end":
        isInputOver = true;
        return isAsking ? "exit" : undefined;
      case "interrupt":
        if (running === null || isAsking || !canAsk) return "exit"; // S3
        isAsking = true;
        printer.hold(QUESTION);
        return undefined;
      case "ended":
        running = null;
        if (message.answer !== null) {
          printer.answer(message.answer);
          codes.push(exitCodeOf(message.answer));
        }
        if (isAsking) printer.release();
        isAsking = false;
        return undefined;
      case "failed":
        throw message.error;
    }
  }

  const chunks = await place.listen?.((chunk) => printer.chunk(chunk));
  const unlisten = terminal.lines?.((line) => inbox.put(line === null ? { kind: "end" } : { kind: "line", line }));
  if (unlisten === undefined) inbox.put({ kind: "end" });
  const unheed = terminal.interrupts?.(() => inbox.put({ kind: "interrupt" }));
  try {
    queue.push(...(await showHistory(place, flags, printer)));
    for (let isOver = false; !isOver; ) {
      if (running === null) {
        const next = queue.shift();
        if (next !== undefined) begin(next);
        else if (isInputOver) break;
        else printer.prompt();
      }
      isOver = (await hear(await inbox.next())) === "exit";
    }
    const open = [...(running === null ? [] : [running]), ...queue].map(({ turnId }) => turnId);
    return end({ open, codes, turns });
  } finally {
    unlisten?.();
    unheed?.();
    (running as { readonly leave: AbortController } | null)?.leave.abort();
    await chunks?.stop();
  }

  function end(left: {
    readonly open: readonly string[];
    readonly codes: readonly ExitCode[];
    readonly turns: number;
  }) {
    const isWaiting = left.open.length > 0;
    const failed = left.codes.find((code) => code !== EXIT.ok) ?? EXIT.ok;
    // A person has seen how each turn ended; a script asks the exit code.
    const code = isWaiting ? EXIT.waiting : canAsk ? EXIT.ok : failed;
    if (flags.json === true) {
      const facts = { agent, instance_key: instance, turns: left.turns, open: left.open, is_kept: place.isKept };
      terminal.out(`${JSON.stringify({ ok: code === EXIT.ok, ...facts })}\n`);
    } else if (isWaiting) {
      const again = ["tessera chat", ...storeWords(flags, terminal.env)].join(" ");
      const kept = place.isKept ? `kept, and goes on with: ${again}` : "gone with the store in memory";
      printer.note(`${left.open.length === 1 ? "a turn is" : `${left.open.length} turns are`} open; it is ${kept}`);
    }
    return code;
  }
}

/** Shows the last turns of the instance; answers with those that have not ended, oldest first. */
async function showHistory(
  { client, agentId }: ChatPlace,
  { project }: ChatFlags,
  printer: ChatPrinter,
): Promise<Asked[]> {
  let hasMore = false;
  const listed = await listOfProject(project, async () => {
    const page = await client.listTurns({ project, agentId, limit: HISTORY_MAX });
    hasMore = page.nextCursor !== null;
    return [...page.turns];
  });
  const found = listed.toReversed();
  const ended = found.filter(isEnded);
  const documents = await Promise.all(ended.map((turn) => client.getTurn({ project, turn: turn.agentTurnId })));
  const said = documents.map((turn) => {
    const { agent_turn_id, status, deliverable } = answerOf(turn);
    return { agent_turn_id, status, input: turn.input ?? null, deliverable };
  });
  printer.history(said, hasMore);
  const open = found.filter((turn) => !isEnded(turn));
  for (const { agentTurnId, input } of open) {
    const event = { event: "resumed", agent_turn_id: agentTurnId, input };
    printer.tell(event, `goes on with: ${input ?? agentTurnId}`);
  }
  return open.map(({ agentTurnId }) => ({ turnId: agentTurnId, past: "open" as const }));
}

/** S5. Null: it was refused. */
async function orTold<T>(printer: ChatPrinter, ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch (error) {
    if (!isApiProblem(error) || error.status === 0) throw error;
    printer.tell({ event: "refused", code: error.code, message: error.message }, `refused: ${error.message}`);
    return null;
  }
}

/** What has come and is not yet dealt with, in its order. */
function createInbox<T>() {
  const waiting: T[] = [];
  let wake: (() => void) | null = null;
  return {
    put(message: T): void {
      waiting.push(message);
      wake?.();
    },
    async next(): Promise<T> {
      while (waiting.length === 0) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      return waiting.shift() as T;
    },
  };
}
