// Waits for turns and shows what they do meanwhile.
//
//   W1. Waiting is only looking: giving up changes nothing, and the turns go on for as long as there are workers.
//   W2. Events wake it, the turn's document decides: without them (a server that sends none, a proxy that holds them back) it
//       is looked at all the same, somewhat later.
//   W3. A server that is away for a while, once it has answered, is waited for; one that never answered is reported at once.
//   W4. The process behind a directory may be another one after a while, with another address and key: where there is a way
//       to ask who it is now, a server that is away, or does not know the key, is looked for again.
//   W5. What had happened before the command watched is marked as such.

import type { Clock } from "../connect/connection.ts";
import { isAway, isUnauthenticated } from "../output/api-failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import { answerOf, type TurnAnswer } from "../turns/turn-answer.ts";
import { isEnded } from "../turns/turn-document.ts";
import { createProgressPrinter, type ProgressPrinter } from "./progress-printer.ts";
import { createTurnProgress, type ProgressEvent, type TurnClient } from "./turn-progress.ts";
import { createWakeSignal } from "./wake-signal.ts";

/** How the turns went; the answers are in the order in which they were asked for. */
export interface WatchedTurns {
  readonly answers: readonly TurnAnswer[];
  /** Not empty: the wait was over, or interrupted. */
  readonly open: readonly string[];
}

export interface Watch {
  readonly printer: ProgressPrinter;
  /** Waits for turns, telling what they do; never longer than `until`, and not after a signal (W1). */
  turns(turnIds: readonly string[], past?: Past): Promise<WatchedTurns>;
  /** Nothing of it goes on after this. */
  close(): Promise<void>;
}

/** W5. `none`: asked for just now; `open`: had not ended when the command began; `any`: may even have ended. */
export type Past = "none" | "open" | "any";

const LOOK_FIRST_MS = 25;
const LOOK_MAX_MS = 400;
const AWAY_MAX_MS = 60_000;
const LISTEN_AGAIN_MS = 2_000;

export function openWatch(
  api: {
    readonly client: TurnClient;
    readonly clock: Clock;
    /** W4 */
    readonly renew?: (() => Promise<TurnClient | null>) | undefined;
  },
  wait: {
    readonly flags: { readonly project: string; readonly json?: boolean };
    readonly terminal: Terminal;
    /** Of the clock; null: as long as it takes. */
    readonly until: number | null;
    readonly signal: AbortSignal;
    /** Default: lines of progress. */
    readonly printer?: ProgressPrinter;
  },
): Watch {
  const { flags, terminal, until, signal } = wait;
  const { clock, renew } = api;
  let client = api.client;
  let stream = new AbortController();
  const { project } = flags;
  const nowMs = () => clock.monotonicMs();
  const closing = new AbortController();
  const now: TurnClient = {
    getTurn: (call) => client.getTurn(call),
    listSteps: (call) => client.listSteps(call),
    readCards: (call) => client.readCards(call),
    streamEvents: (call) => client.streamEvents(call),
  };
  const progress = createTurnProgress(now, { project, nowMs });
  const printer = wait.printer ?? createProgressPrinter(terminal, { isJson: flags.json === true, nowMs });
  const news = createWakeSignal(clock);
  const listening = listen();

  /** W2 */
  async function listen(): Promise<void> {
    while (!closing.signal.aborted) {
      const own = stream;
      try {
        const ends = AbortSignal.any([closing.signal, own.signal]);
        for await (const _ of now.streamEvents({ project, signal: ends })) news.wake();
      } catch {
        // Whatever is wrong with the stream: looking goes on, and says what is wrong with the server.
      }
      if (!closing.signal.aborted && !own.signal.aborted) await news.pause(LISTEN_AGAIN_MS, closing.signal);
    }
  }

  /** W4 */
  async function findAgain(): Promise<void> {
    const found = (await renew?.()) ?? null;
    if (found === null) return;
    client = found;
    stream.abort(); // events come from there now
    stream = new AbortController();
  }

  /** W3 */
  async function look(away: Away, past: Past, asked: ReadonlySet<string>): Promise<number> {
    try {
      const events = await progress.look();
      const isFirst = !away.hasAnswered;
      away.hasAnswered = true;
      if (away.sinceMs !== null) printer.note("the server answers again");
      away.sinceMs = null;
      for (const event of events) printer.event(event, isFirst && isPast(event, past, asked)); // W5
      return events.length;
    } catch (error) {
      const isRenewable = renew !== undefined && isUnauthenticated(error); // W4
      if (!away.hasAnswered || !(isAway(error) || isRenewable)) throw error;
      if (away.sinceMs === null) printer.note("the server does not answer; trying again");
      away.sinceMs ??= nowMs();
      if (nowMs() - away.sinceMs > AWAY_MAX_MS) throw error;
      await findAgain();
      return 0;
    }
  }

  return {
    printer,
    async turns(turnIds, past = "none") {
      const asked = new Set(turnIds);
      for (const turnId of asked) progress.watch(turnId);
      const away: Away = { sinceMs: null, hasAnswered: false };
      try {
        for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
          if ((await look(away, past, asked)) > 0) pauseMs = LOOK_FIRST_MS;
          const documents = turnIds.map((turnId) => ({ turnId, document: progress.document(turnId) }));
          const ended = documents.flatMap(({ document }) => (document !== null && isEnded(document) ? [document] : []));
          if (ended.length === turnIds.length || signal.aborted || (until !== null && nowMs() >= until)) {
            const done = new Set(ended.map(({ agentTurnId }) => agentTurnId));
            return { answers: ended.map(answerOf), open: turnIds.filter((turnId) => !done.has(turnId)) };
          }
          printer.draw(progress.open());
          await news.pause(pauseMs, signal);
        }
      } finally {
        printer.close();
      }
    },
    async close() {
      closing.abort();
      await listening;
    },
  };
}

interface Away {
  sinceMs: number | null;
  hasAnswered: boolean;
}

/** W5: a turn that was asked about because it had not ended has ended since; one that it had started, before. */
function isPast({ event, status, agent_turn_id }: ProgressEvent, past: Past, asked: ReadonlySet<string>): boolean {
  const isEnd = event === "turn" && status !== "started" && asked.has(agent_turn_id);
  return past === "any" || (past === "open" && !isEnd);
}
