// The limits of one attempt: silence, total time and bytes on the wire.
//
//   W1. Every byte counts as life, also the comments that servers send while a model thinks.
//   W2. What ends an attempt is the signal's reason, so that a limit and the turn's own stop are distinguished.
//   W3. Redirects are not followed: the headers hold the key, and only `authorization` would be dropped on the way.

import type { Clock, Timer } from "@tessera/kernel/ports";
import type { ModelLimits } from "./create-models.ts";
import { AttemptFailed } from "./model-failure.ts";
import { canceled } from "./pause.ts";

export interface AttemptWatch {
  /** Ends with the turn's signal or with a limit (W2). */
  readonly signal: AbortSignal;
  readonly fetch: typeof globalThis.fetch;
  /** Stops the timers, and whatever still runs for this attempt. */
  close(): void;
}

export function watchAttempt(options: {
  readonly clock: Clock;
  readonly limits: ModelLimits;
  readonly fetch: typeof globalThis.fetch;
  readonly signal: AbortSignal;
}): AttemptWatch {
  const { clock, limits } = options;
  const ending = new AbortController();
  const giveUp = (text: string, retryable: boolean) => ending.abort(new AttemptFailed({ text, retryable })); // W2
  const onStop = () => ending.abort(canceled());
  if (options.signal.aborted) onStop();
  else options.signal.addEventListener("abort", onStop, { once: true });

  let silence: Timer;
  function touch(): void {
    silence?.cancel();
    silence = clock.after(limits.silenceMs, () => giveUp(`was silent for ${limits.silenceMs / 1_000} s`, true));
  }
  touch();
  const total = clock.after(limits.totalMs, () =>
    // A model that never stops would not stop the next time either.
    giveUp(`did not come to an end within ${limits.totalMs / 1_000} s`, false),
  );

  let bytes = 0;
  const counted = () =>
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        touch(); // W1
        bytes += chunk.byteLength;
        if (bytes > limits.wireBytesMax) giveUp(`sent more than ${limits.wireBytesMax} bytes`, false);
        else controller.enqueue(chunk);
      },
    });

  return {
    signal: ending.signal,
    async fetch(input, init) {
      const response = await options.fetch(input, { ...init, redirect: "manual" }); // W3
      touch();
      if (response.body === null) return response;
      const { status, statusText, headers } = response;
      return new Response(response.body.pipeThrough(counted()), { status, statusText, headers });
    },
    close() {
      silence.cancel();
      total.cancel();
      options.signal.removeEventListener("abort", onStop);
      ending.abort(canceled());
    },
  };
}
