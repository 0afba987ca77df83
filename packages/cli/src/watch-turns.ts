// Waits for turns and tells what they do meanwhile.
//
//   W1. Waiting is only looking: giving up changes nothing, and the turns go on for as long as somebody works on them.

import type { JsonObject } from "@tessera/protocol";
import type { Node } from "@tessera/runtime";
import { progressLine } from "./progress-text.ts";
import type { Terminal } from "./run-cli.ts";
import { answerOf, type TurnAnswer } from "./turn-answer.ts";
import { createTurnProgress, type ProgressEvent } from "./turn-progress.ts";

/** How the turns went; the answers are in the order in which they were asked for. */
export interface WatchedTurns {
  readonly answers: readonly TurnAnswer[];
  /** Not empty: the wait was over, or interrupted. */
  readonly open: readonly string[];
}

const LOOK_FIRST_MS = 25;
const LOOK_MAX_MS = 300;

/** Waits for turns, telling what they do; never longer than `until`, and not after a signal (W1). */
export function createWatch(
  node: Node,
  wait: {
    readonly flags: { readonly project: string; readonly json?: boolean };
    readonly terminal: Terminal;
    readonly until: number;
    readonly signal: AbortSignal;
  },
): (turnIds: readonly string[]) => Promise<WatchedTurns> {
  const { flags, terminal, until, signal } = wait;
  const { clock, kernel } = node;
  const progress = createTurnProgress(node, flags.project);
  const startMs = clock.monotonicMs();
  const tell = (event: ProgressEvent) => {
    if (flags.json === true) terminal.out(`${JSON.stringify(event)}\n`);
    else terminal.err(progressLine(event, clock.monotonicMs() - startMs, isColoured(terminal)));
  };

  async function answer(turnId: string): Promise<TurnAnswer[]> {
    const row = progress.row(turnId);
    if (row === null || row.ended_at === null) return [];
    const [card] = await kernel.reads.cards(flags.project, [String(row.deliverable_card_id)]);
    return [answerOf(row, progress.agentOf(turnId), card?.content as JsonObject | undefined)];
  }

  return async (turnIds) => {
    for (const turnId of turnIds) progress.watch(turnId);
    const isOpen = (turnId: string) => (progress.row(turnId)?.ended_at ?? null) === null;
    for (let pauseMs = LOOK_FIRST_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MAX_MS)) {
      const events = await progress.look();
      events.forEach(tell);
      if (events.length > 0) pauseMs = LOOK_FIRST_MS;
      const open = turnIds.filter(isOpen);
      if (open.length === 0 || signal.aborted || clock.monotonicMs() >= until) {
        return { answers: (await Promise.all(turnIds.map(answer))).flat(), open };
      }
      await pause(clock, pauseMs, signal);
    }
  };
}

function pause(clock: Node["clock"], ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.after(ms, done);
    signal.addEventListener("abort", done);
    function done(): void {
      timer.cancel();
      signal.removeEventListener("abort", done);
      resolve();
    }
  });
}

function isColoured({ isWatched, env }: Terminal): boolean {
  return isWatched && !env.NO_COLOR;
}
