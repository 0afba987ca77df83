// The arguments of `tools call`: JSON text, @file, or - for stdin. What is no JSON object is the user's mistake and never
// reaches the tool.

import { readFileSync } from "node:fs";
import { ARGUMENTS_BYTES_MAX, isJsonObject, type JsonObject, parseJson, TesseraError } from "@tessera/protocol";
import { EXIT } from "../exit-codes.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";

const WANTED = "--arguments must be one JSON object, @file with one, or - for stdin";

export async function readArguments(given: string | undefined, terminal: Pick<Terminal, "input">): Promise<JsonObject> {
  if (given === undefined) return {};
  if (given.startsWith("@")) {
    const file = given.slice(1);
    return objectOf(readFile(file), (found) =>
      errorWithTodo(
        "bad_request",
        `${file}: ${found}`,
        "Correct the file: it must hold one JSON object.",
        EXIT.configuration,
      ),
    );
  }
  if (given === "-")
    return objectOf(await terminal.input(ARGUMENTS_BYTES_MAX), (found) => usageError(`${WANTED}; stdin: ${found}`));
  return objectOf(given, (found) => usageError(`${WANTED}: ${found}`));
}

function objectOf(text: string, refuse: (found: string) => TesseraError): JsonObject {
  let value: unknown;
  try {
    value = parseJson(text, { bytesMax: ARGUMENTS_BYTES_MAX });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw refuse(text.trim() === "" ? "it is empty" : error.message);
  }
  if (isJsonObject(value)) return value;
  throw refuse(`found ${value === null ? "null" : Array.isArray(value) ? "a list" : `a ${typeof value}`}`);
}

function readFile(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw errorWithTodo("bad_request", `cannot read ${file}: ${code}`, "Check the path after @.", EXIT.configuration);
  }
}
