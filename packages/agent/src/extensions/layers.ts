// The onion: runs layers around what they wrap.
//
//   L1. A layer that fails (it throws, answers wrongly or takes too long) fails closed: what it wraps does not run, and
//       `refuse` says what stands in its place. If the inside has run already, `refuse` is given its outcome. A layer with
//       `onError: skip` is left out instead, with what it changed, or loses only its own effect. Both are reported.
//   L2. `next()` runs the inside once. A second call is refused, and a mistake of the layer whether it looks or not.
//   L3. A failure of the inside is the failure of the whole, whatever the layers make of it: a layer cannot hide that a
//       turn could not go on.
//   L4. The inside has always ended when the onion answers, also if a layer did not wait for it.
//   L5. A layer that hangs is left behind when its time is up or the turn is stopped. Its time stands still while the
//       inside runs. What it does later has no effect: its `next()` is refused.
//   L6. A layer is foreign code; the inside that its `next()` runs is not (tool's foreign-code.ts).

import type { Clock, Timer } from "@tessera/kernel";
import { TesseraError } from "@tessera/protocol";
import { type ForeignCode, runForeign, runOwn } from "@tessera/tool/run";
import type { LayerType, OnError } from "./api.ts";

export interface Layer {
  readonly extension: string;
  readonly type: LayerType;
  readonly priority: number;
  readonly onError: OnError;
  /** Of the layer itself, without the inside (L5). */
  readonly timeoutMs: number;
  readonly run: (ctx: never) => unknown;
}

export interface LayerFailure {
  readonly layer: Layer;
  readonly error: unknown;
  /** Whether the inside had run. */
  readonly hasRun: boolean;
}

export interface Onion<Inside, Shown> {
  readonly layers: readonly Layer[];
  readonly inside: () => Promise<Inside>;
  /** What a layer's `next()` answers. */
  readonly show: (inside: Inside) => Shown | Promise<Shown>;
  readonly contextFor: (next: () => Promise<Shown>, layer: Layer) => object;
  /** The outcome of a layer that returned. `inside` is absent where it did not call `next()`. Throws what is the layer's mistake. */
  readonly take: (returned: unknown, inside?: Inside) => Inside;
  /** The outcome where a layer failed (L1), or throws where there can be none. `inside` is absent where nothing has run. */
  readonly refuse: (failure: LayerFailure, inside?: Inside) => Inside;
  /** Remembers what layers may change; the answer puts it back (L1). */
  readonly save: () => () => void;
  readonly clock: Pick<Clock, "after" | "monotonicMs">;
  readonly signal: AbortSignal;
  readonly onFault: (failure: LayerFailure) => void;
  readonly foreignOf: (extension: string) => ForeignCode;
}

export function inOrder(layers: readonly Layer[], type: LayerType): Layer[] {
  return layers.filter((layer) => layer.type === type).toSorted((a, b) => a.priority - b.priority);
}

export async function runOnion<Inside, Shown>(onion: Onion<Inside, Shown>, index = 0): Promise<Inside> {
  const layer = onion.layers[index];
  if (layer === undefined) return await onion.inside();
  const further = () => runOnion(onion, index + 1);
  const undo = onion.save();
  const time = ownTime(layer, onion.clock);
  let below: Promise<Inside> | null = null;
  let isOver = false;
  let mistake: Error | null = null;
  const enter = async (): Promise<Shown> => {
    if (below !== null || isOver) {
      mistake = new Error(isOver ? "next() was called after the layer was over" : "next() was called twice"); // L2
      throw mistake;
    }
    time.pause();
    try {
      below = further();
      return await onion.show(await below);
    } finally {
      if (!isOver) time.run();
    }
  };
  const next = () => {
    const shown = runOwn(enter); // L6
    shown.catch(() => undefined); // a layer that does not look must not end the process
    return shown;
  };
  time.run();
  const context = onion.contextFor(next, layer) as never;
  const run = () => runForeign(onion.foreignOf(layer.extension), () => layer.run(context)); // L6
  const end = await settle(run, time.isUp, onion.signal);
  isOver = true;
  time.pause();
  const inside = below as Promise<Inside> | null;
  if (inside === null) {
    if (onion.signal.aborted) throw new TesseraError("canceled", "the turn is over"); // L5
    try {
      if ("error" in end) throw end.error;
      return onion.take(end.returned);
    } catch (error) {
      const failure = { layer, error, hasRun: false };
      onion.onFault(failure);
      if (layer.onError === "fail") return onion.refuse(failure); // L1
      undo();
      return await further();
    }
  }
  const result = await inside; // L3, L4
  if (onion.signal.aborted && "error" in end) return result;
  try {
    if ("error" in end) throw end.error;
    if (mistake !== null) throw mistake;
    return onion.take(end.returned, result);
  } catch (error) {
    const failure = { layer, error, hasRun: true };
    onion.onFault(failure);
    return layer.onError === "fail" ? onion.refuse(failure, result) : result; // L1
  }
}

type End = { readonly returned: unknown } | { readonly error: unknown };

/** Never rejects. A layer that is left behind (L5) may go on; its outcome is dropped. */
async function settle(run: () => unknown, isUp: Promise<End>, signal: AbortSignal): Promise<End> {
  const { promise: aborted, resolve } = Promise.withResolvers<End>();
  const onAbort = () => resolve({ error: signal.reason });
  if (signal.aborted) onAbort();
  signal.addEventListener("abort", onAbort);
  const ran = (async (): Promise<End> => {
    try {
      return { returned: await run() };
    } catch (error) {
      return { error };
    }
  })();
  const end = await Promise.race([ran, aborted, isUp]);
  signal.removeEventListener("abort", onAbort);
  return end;
}

/** L5 */
function ownTime({ timeoutMs }: Layer, clock: Pick<Clock, "after" | "monotonicMs">) {
  const { promise: isUp, resolve } = Promise.withResolvers<End>();
  const error = new Error(`it did not answer within ${timeoutMs} ms`);
  let leftMs = timeoutMs;
  let since = 0;
  let timer: Timer | null = null;
  return {
    isUp,
    run(): void {
      since = clock.monotonicMs();
      timer ??= clock.after(leftMs, () => resolve({ error }));
    },
    pause(): void {
      if (timer === null) return;
      timer.cancel();
      timer = null;
      leftMs = Math.max(0, leftMs - (clock.monotonicMs() - since));
    },
  };
}
