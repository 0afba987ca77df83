// The thread that watches its process's event loop, and ends the process when the loop stands still for good.
//
//   W1. Time is counted in ticks of this thread, so a process that was stopped (SIGSTOP, a laptop that slept) and goes on has
//       missed none: neither thread ran.
//   W2. Whose code holds the loop is asked of the loop itself, by the inspector, which interrupts JavaScript, WebAssembly and
//       regular expressions wherever they are: it answers with the turn of the asynchronous context, and with the place. Inside
//       of a system call (execSync) nothing answers. Then it is the turn that was noted last, where turns are watched closely,
//       or the only one at work, or it is not known.
//   W3. The note is durable before the process ends: beside an embedded store, which dies with the process, in PostgreSQL by a
//       connection of this thread. A store that does not take it in time is not waited for: then it was a crash like others.
//   W4. Whatever fails here, the process ends.
//   W5. What only a hang needs is loaded then: every start pays for the rest.

import { writeSync } from "node:fs";
import { Session } from "node:inspector";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock, systemIds } from "@tessera/engines/system";
import type { HangNote } from "@tessera/kernel";
import { writeHangFile } from "./hang-file.ts";
import { isHung } from "./is-hung.ts";
import {
  BEATS,
  CURRENT_TURN,
  EXIT_HUNG,
  IS_DEBUGGED,
  SLOT,
  type ThreadData,
  type ThreadMessage,
  TRACKED,
} from "./shared.ts";

const WAIT_MS = { look: 3_000, note: 5_000, exit: 5_000 };
const PLACE_CHARS_MAX = 300;
const STDERR = 2;

const { shared, blockedMs, tickMs, place } = workerData as ThreadData;
const atWork = new Map<number, Extract<ThreadMessage, { enters: number }>["turn"]>();
let beats = -1;
let silentTicks = 0;
let cpuAtBeat = 0;
let isEnding = false;

parentPort?.on("message", (message: ThreadMessage) => {
  if ("leaves" in message) atWork.delete(message.leaves);
  else atWork.set(message.enters, message.turn);
});

setInterval(() => {
  const heard = Atomics.load(shared, BEATS);
  if (heard !== beats || Atomics.load(shared, IS_DEBUGGED) === 1) {
    beats = heard;
    silentTicks = 0;
    cpuAtBeat = cpuMs();
    parentPort?.postMessage("beat");
    return;
  }
  silentTicks += 1; // W1
  const silence = { ms: silentTicks * tickMs, cpuMs: cpuMs() - cpuAtBeat };
  if (isEnding || !isHung(silence, blockedMs)) return;
  isEnding = true;
  void endUnlessBack(silence.ms);
}, tickMs);

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

async function endUnlessBack(silentMs: number): Promise<void> {
  try {
    const session = new Session();
    session.connectToMainThread();
    const seen = await Promise.race([look(session), pause(WAIT_MS.look).then(() => null)]); // W2
    if (Atomics.load(shared, BEATS) !== beats) {
      session.disconnect();
      isEnding = false;
      return;
    }
    const note = noteOf(seen);
    await Promise.race([tell(silentMs, note, seen), pause(WAIT_MS.note)]); // W3
    // Where the loop can be interrupted the process ends with a code of its own. What Node has to say about that goes nowhere.
    const end = `process.getBuiltinModule("node:fs").closeSync(2); process.reallyExit(${EXIT_HUNG})`;
    session.post("Runtime.evaluate", { expression: end });
    await pause(WAIT_MS.exit);
  } finally {
    if (isEnding) process.kill(process.pid, "SIGKILL"); // W4
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.after(ms, resolve));
}

interface Seen {
  readonly slot: number;
  readonly stack: string;
}

function look(session: Session): Promise<Seen | null> {
  const expression = `({ slot: globalThis[Symbol.for(${JSON.stringify(CURRENT_TURN)})]?.() ?? 0, stack: String(new Error().stack) })`;
  return new Promise((resolve) => {
    session.post("Runtime.evaluate", { expression, returnByValue: true }, (error, answer) => {
      resolve(error === null ? (answer.result.value as Seen) : null);
    });
  });
}

/** W2 */
function noteOf(seen: Seen | null): HangNote {
  const turns = [...atWork.values()];
  const only = turns.length === 1 ? turns[0] : undefined;
  const tracked = Atomics.load(shared, TRACKED) > 0 ? atWork.get(Atomics.load(shared, SLOT)) : only;
  const blamed = seen === null ? tracked : atWork.get(seen.slot);
  return {
    hang_id: systemIds.mint("hang"),
    workers: [...new Set(turns.flatMap(({ worker_id }) => worker_id ?? []))],
    blamed: blamed === undefined ? null : [blamed.agent_turn_id],
  };
}

async function tell(silentMs: number, note: HangNote, seen: Seen | null): Promise<void> {
  const { openLog } = await import("../process/open-log.ts"); // W5
  const log = openLog((line) => void writeSync(STDERR, line));
  log.warn(sentence(silentMs, note, seen));
  try {
    await write(note, log.warn);
  } catch (error) {
    log.warn(`which turn held up this process could not be noted: ${String(error)}`);
  }
}

function sentence(silentMs: number, { blamed }: HangNote, seen: Seen | null): string {
  const at = seen === null ? " inside of a system call" : placeOf(seen.stack);
  const whose = blamed === null ? "whose code it is is not known" : `it is code of turn ${blamed[0]}`;
  const seconds = (silentMs / 1_000).toFixed(1);
  const found = `the event loop has stood still for ${seconds} s${at}; ${whose}; turns at work: ${atWork.size}`;
  return `${found}; this process is ended, with exit code ${EXIT_HUNG} where it can be, and has to be started again`;
}

/** The innermost function that is not Node's own. */
function placeOf(stack: string): string {
  const frames = stack.split("\n").map((line) => line.trim());
  const own = frames.find((frame) => frame.startsWith("at ") && frame.includes("/") && !frame.includes("node:"));
  return own === undefined ? "" : ` ${own.slice(0, PLACE_CHARS_MAX)}`;
}

async function write(note: HangNote, onWarning: (warning: string) => void): Promise<void> {
  if (note.workers.length === 0 && note.blamed === null) return;
  if (place.kind === "directory") return writeHangFile(place.directory, note);
  if (place.kind === "memory") return;
  const [{ openPostgres }, { noteHang }] = await Promise.all([
    import("@tessera/engines/postgres"),
    import("@tessera/kernel"),
  ]);
  await noteHang(await openPostgres({ url: place.url, onWarning }), systemClock, note);
}
