// For tests: what is reported to an author who made a mistake.

import { TesseraError } from "@tessera/protocol";

/** The code and message of what this throws. */
export function mistakeOf(define: () => unknown): { code: string; message: string } {
  try {
    define();
  } catch (error) {
    if (TesseraError.is(error)) return { code: error.code, message: error.message };
    throw error;
  }
  throw new Error("nothing was thrown");
}
