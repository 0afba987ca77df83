// What a call waits for, as its rows in the store tell it: said while a person waits, and at the end of a wait that was
// too short.

import type { Node } from "@tessera/runtime";

type Reads = Pick<Node["kernel"]["reads"], "callsOfTurn" | "call">;
type CallRow = Readonly<Record<string, unknown>>;

const LOOK_AGAIN_MS = 3_000;

export async function waitingFor(reads: Reads, projectId: string, turnId: string): Promise<string> {
  const [planned] = await reads.callsOfTurn(projectId, turnId);
  const call = planned === undefined ? null : await reads.call(projectId, String(planned.tool_call_id));
  return waitReason(call);
}

export function waitReason(call: CallRow | null): string {
  if (call === null) return "its turn has not begun";
  if (call.wait_status !== "waiting") return "its result is there, and its turn is about to end";
  const attempt = Number(call.attempt) > 1 ? ` (attempt ${call.attempt})` : "";
  if (call.local === true) return `the tool is running${attempt}`;
  if (typeof call.batch_id === "string") return "the turns that it started are under way";
  if (call.claimed_by !== null) return `executor ${call.claimed_by} runs it${attempt}`;
  const target = String(call.target_subject).split(".")[6] ?? "its target";
  return `no executor of ${target} has taken it`;
}

/** Says the reason once it has taken `firstMs`, and again whenever it changes. */
export function tellWait(options: {
  readonly clock: Node["clock"];
  readonly firstMs: number;
  readonly reason: () => Promise<string>;
  readonly say: (reason: string) => void;
}): { stop(): Promise<void> } {
  const { clock, firstMs, reason, say } = options;
  let isStopped = false;
  let said = "";
  let looking: Promise<void> = Promise.resolve();
  const look = async () => {
    const found = await reason();
    if (found !== said && !isStopped) say(found);
    said = found;
  };
  const schedule = (ms: number) =>
    clock.after(ms, () => {
      // A store that cannot be read is told by the wait itself.
      looking = look().then(
        () => {
          if (!isStopped) timer = schedule(LOOK_AGAIN_MS);
        },
        () => undefined,
      );
    });
  let timer = schedule(firstMs);
  return {
    async stop() {
      isStopped = true;
      timer.cancel();
      await looking;
    },
  };
}
