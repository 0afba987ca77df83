// The onion: runs layers around what they wrap, and keeps each layer's errors its own.
//
//   L1. A layer that fails before its `next()` is skipped, with what it changed; one that fails after it loses only its own
//       effect. Both are told.
//   L2. `next()` runs the inside once. A second call is refused, and a mistake of the layer whether it looks or not.
//   L3. A failure of the inside is the failure of the whole, whatever the layers make of it: a layer cannot hide that a
//       turn could not go on.
//   L4. The inside has always ended when the onion answers, also if a layer did not wait for it.
//   L5. A layer that hangs is left behind when the turn is stopped.

import { CGError } from "@tessera/protocol";
import type { LayerType } from "./api.ts";

export interface Layer {
  readonly extension: string;
  readonly type: LayerType;
  readonly priority: number;
  readonly run: (ctx: never) => unknown;
}

export interface Onion<Inside, Shown> {
  readonly layers: readonly Layer[];
  readonly inside: () => Promise<Inside>;
  /** What a layer's `next()` answers. */
  readonly show: (inside: Inside) => Shown | Promise<Shown>;
  readonly contextFor: (next: () => Promise<Shown>, layer: Layer) => object;
  /** The outcome of a layer that returned. `inside` is absent where it did not call `next()`. Throws what is the layer's mistake. */
  readonly take: (returned: unknown, inside?: Inside) => Inside;
  /** Remembers what layers may change; the answer puts it back (L1). */
  readonly save: () => () => void;
  readonly signal: AbortSignal;
  readonly onFault: (layer: Layer, error: unknown) => void;
}

export function inOrder(layers: readonly Layer[], type: LayerType): Layer[] {
  return layers.filter((layer) => layer.type === type).toSorted((a, b) => a.priority - b.priority);
}

export async function runOnion<Inside, Shown>(onion: Onion<Inside, Shown>, index = 0): Promise<Inside> {
  const layer = onion.layers[index];
  if (layer === undefined) return await onion.inside();
  const further = () => runOnion(onion, index + 1);
  const undo = onion.save();
  let below: Promise<Inside> | null = null;
  let isOver = false;
  let mistake: Error | null = null;
  const enter = async (): Promise<Shown> => {
    if (below !== null || isOver) {
      mistake = new Error(isOver ? "next() was called after the layer had returned" : "next() was called twice"); // L2
      throw mistake;
    }
    below = further();
    return await onion.show(await below);
  };
  const next = () => {
    const shown = enter();
    shown.catch(() => undefined); // a layer that does not look must not end the process
    return shown;
  };
  const end = await settle(() => layer.run(onion.contextFor(next, layer) as never), onion.signal);
  isOver = true;
  const inside = below as Promise<Inside> | null;
  if (inside === null) {
    if (onion.signal.aborted) throw new CGError("canceled", "the turn is over"); // L5
    try {
      if ("error" in end) throw end.error;
      return onion.take(end.returned);
    } catch (error) {
      onion.onFault(layer, error);
      undo(); // L1
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
    onion.onFault(layer, error);
    return result; // L1
  }
}

type End = { readonly returned: unknown } | { readonly error: unknown };

/** Never rejects. A layer that is left behind (L5) may go on; nobody listens. */
async function settle(run: () => unknown, signal: AbortSignal): Promise<End> {
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
  const end = await Promise.race([ran, aborted]);
  signal.removeEventListener("abort", onAbort);
  return end;
}
