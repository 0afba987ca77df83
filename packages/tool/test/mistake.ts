// For tests: what an author is told who made a mistake.

import { CGError } from "@tessera/protocol";

/** The code and message of what this throws. */
export function mistakeOf(define: () => unknown): { code: string; message: string } {
  try {
    define();
  } catch (error) {
    if (CGError.is(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was thrown");
}
