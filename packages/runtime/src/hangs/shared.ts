// What the event loop and the thread that watches it have in common.

import type { AtWork } from "@tessera/kernel";
import type { StorePlace } from "../store/store-place.ts";

/** Of a process that was ended because its event loop stood still. */
export const EXIT_HUNG = 8;

/** The name of a global symbol: a function that answers with the slot of the turn whose code runs. */
export const CURRENT_TURN = "tessera.current-turn";

/** Places in the shared memory: how often the loop answered; whether a debugger may hold it; the slot of the turn whose code
 *  runs, and for how many turns that is noted. */
export const BEATS = 0;
export const IS_DEBUGGED = 1;
export const SLOT = 2;
export const TRACKED = 3;
export const SHARED_LENGTH = 4;

export interface ThreadData {
  readonly shared: Int32Array;
  readonly blockedMs: number;
  readonly tickMs: number;
  readonly place: StorePlace;
}

export type ThreadMessage = { readonly enters: number; readonly turn: AtWork } | { readonly leaves: number };
