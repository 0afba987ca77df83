// Every turn of a project, shown as `run` shows its own: what `dev` prints on a terminal.
//
//   A1. Events say that something happened, and of which turn; the turn's document says what. Turns that a turn asked for are
//       shown with it.
//   A2. The time that is shown begins with the first turn after none was under way.
//   A3. What has ended is forgotten: a process may run for days.

import type { Client } from "@tessera/client";
import type { Clock } from "../connect/connection.ts";
import { answerOf, deliverableText } from "../turns/turn-answer.ts";
import type { LinePrinter } from "./progress-printer.ts";
import { createTurnProgress, type TurnProgress } from "./turn-progress.ts";
import { createWakeSignal } from "./wake-signal.ts";

type TurnsClient = Pick<Client, "getTurn" | "listSteps" | "listTurns" | "readCards" | "streamEvents">;

const LOOK_MS = 400;
const LISTEN_AGAIN_MS = 2_000;
const OPEN_MAX = 50;
const ANSWER_CHARS_MAX = 2_000;
/** Turns that are remembered as shown, so that a late event of one does not begin it anew. */
const TOLD_MAX = 1_000;

/** Resolves when the signal has come and nothing of it goes on. */
export async function watchAllTurns(
  { client, clock }: { readonly client: TurnsClient; readonly clock: Clock },
  {
    project,
    printer,
    signal,
    onReady,
  }: {
    readonly project: string;
    readonly printer: LinePrinter;
    readonly signal: AbortSignal;
    /** Every turn that is asked for from now on is shown. */
    readonly onReady: () => void;
  },
): Promise<void> {
  const nowMs = () => clock.monotonicMs();
  const progress = createTurnProgress(client, { project, nowMs, signal });
  const news = createWakeSignal(clock);
  const heard = new Set<string>();
  const told = new Set<string>();

  async function listen(): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const { data } of client.streamEvents({ project, signal, onOpen: onReady })) {
          if (!told.has(data.agentTurnId)) heard.add(data.agentTurnId);
          news.wake();
        }
      } catch {
        onReady();
        // The API ends with the process, and whatever else is wrong is reported to the requests of the turns below.
      }
      if (!signal.aborted) await news.pause(LISTEN_AGAIN_MS, signal);
    }
  }

  /** A1. A turn that another asked for is shown with that one, if it is shown at all. */
  async function begin(): Promise<void> {
    for (const turn of heard) {
      heard.delete(turn);
      if (progress.document(turn) !== null) continue;
      const { parentAgentTurnId: parent } = await client.getTurn({ project, turn, signal });
      if (parent !== null && progress.isWatched(parent)) continue;
      if (progress.isIdle()) printer.restart(); // A2
      progress.watch(turn);
      told.add(turn);
      if (told.size > TOLD_MAX) told.delete(told.values().next().value ?? "");
    }
  }

  async function look(): Promise<void> {
    await begin();
    for (const event of await progress.look()) {
      printer.event(event);
      if (event.event !== "turn" || event.status === "started") continue;
      const document = progress.document(event.agent_turn_id);
      if (document !== null) tellEnd(document, progress, printer);
    }
    progress.forgetEnded(); // A3
    printer.draw(progress.open());
  }

  const listening = listen();
  const { turns } = await client
    .listTurns({ project, status: "active", limit: OPEN_MAX, signal })
    .catch(() => ({ turns: [] }));
  for (const { agentTurnId } of turns) heard.add(agentTurnId);
  while (!signal.aborted) {
    await look().catch(() => undefined); // as in listen
    if (signal.aborted) break;
    await (progress.isIdle() && heard.size === 0 ? news.woken(signal) : news.pause(LOOK_MS, signal));
  }
  await listening;
}

/** What it delivered, where the request came from outside: inside of a swarm another turn reads it. */
function tellEnd(
  document: NonNullable<ReturnType<TurnProgress["document"]>>,
  progress: TurnProgress,
  printer: LinePrinter,
): void {
  const { parentAgentTurnId: parent } = document;
  if (parent !== null && progress.isWatched(parent)) return;
  const { deliverable, error } = answerOf(document);
  const text = error === undefined ? deliverableText(deliverable).trimEnd() : error.message;
  if (deliverable === null && error === undefined) return;
  printer.deliverable(text.length > ANSWER_CHARS_MAX ? `${text.slice(0, ANSWER_CHARS_MAX).toWellFormed()} …` : text);
}
