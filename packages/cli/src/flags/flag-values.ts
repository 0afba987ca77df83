// Values of flags that the parser takes as text. A value that means nothing is a mistake in the command line: exit 2,
// before anything is opened.

import { isId } from "@tessera/protocol";
import { usageError } from "../output/failure.ts";

export function readNumber(
  flag: string,
  text: string,
  { min, max, whole = true }: { readonly min: number; readonly max: number; readonly whole?: boolean },
): number {
  const value = text.trim() === "" ? Number.NaN : Number(text);
  if (value >= min && value <= max && (!whole || Number.isInteger(value))) return value;
  const kind = whole ? "a whole number" : "a number";
  throw usageError(`${flag} must be ${kind} from ${min} to ${max}; it is ${JSON.stringify(text)}`);
}

export function readChoice<T extends string>(flag: string, text: string, known: readonly T[]): T {
  const found = known.find((name) => name === text);
  if (found === undefined)
    throw usageError(`${flag} must be one of ${known.join(", ")}; it is ${JSON.stringify(text)}`);
  return found;
}

export function checkId(flag: string, text: string): void {
  if (isId(text)) return;
  throw usageError(`${flag} must be 1 to 64 letters, digits, _ and -; it is ${JSON.stringify(text)}`);
}
