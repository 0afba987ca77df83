// What both forms of a tool document have in common: the parts of a definition, and the checks that need all of it.

import {
  AFTER_EXECUTION_DEFAULT,
  AFTER_EXECUTIONS,
  type AfterExecution,
  type ErrorCode,
  errorOf,
  isAfterExecution,
  isToolName,
  type JsonObject,
  TesseraError,
} from "@tessera/protocol";
import { checkArgumentOptions, checkParameters, copyParameters, toCurrentDialect } from "../catalog/index.ts";
import type { ToolDefinition } from "../definition.ts";
import { isReservedToolName } from "../reserved-names.ts";
import { checkSchemaTexts } from "./description.ts";
import { type DocumentReading, given, mappingAt } from "./document-reading.ts";
import { shown } from "./place.ts";
import type { YamlKind } from "./yaml-limits.ts";

export interface ToolDocumentOptions {
  readonly source: YamlKind;
  /** The project that defines the tool: a literal project in its subject must be this one. */
  readonly projectId?: string;
  /** The only environment variables that `envs` may name. */
  readonly envAllowList?: readonly string[];
}

/** A definition and where it was written. */
export interface ToolDraft {
  readonly definition: ToolDefinition;
  /** The handler's name in the entry module. */
  readonly export_name: string;
  /** The module, as written. */
  readonly entry?: string;
  readonly pointer: string;
}

export function checkToolName(reading: DocumentReading, name: string, pointer: string): void {
  const code = nameRefusal(name);
  if (code === null) return;
  const expected =
    code === "reserved_name"
      ? "is the name of a tool of Tessera; choose another"
      : "must be letters, digits, _ and -, at most 64, with at most one __ between two parts";
  reading.mistake(code, pointer, `the tool name ${shown(name)} ${expected}`);
}

function nameRefusal(name: string): ErrorCode | null {
  // Spaces around a reserved name do not make it another word to a model.
  if (isReservedToolName(name.trim())) return "reserved_name";
  return isToolName(name) ? null : "invalid_name";
}

/** The parameters of a tool that declares none. */
const ANY_OBJECT: JsonObject = { type: "object" };

export function readParameters(
  reading: DocumentReading,
  parent: JsonObject,
  parentPointer: string,
  toolName: string,
): JsonObject {
  const parameters = mappingAt(reading, parent, "parameters", parentPointer);
  if (parameters === undefined) return { ...ANY_OBJECT };
  const pointer = `${parentPointer}/parameters`;
  // An older draft is stored as 2020-12. What follows works on a schema that can be compiled, or on one that accepts any object.
  let usable: JsonObject = ANY_OBJECT;
  reading.check(
    () => {
      usable = namingTool(toolName, () => {
        const current = toCurrentDialect(copyParameters(parameters, pointer), pointer);
        checkParameters(current, { pointer });
        return current.$schema === parameters.$schema ? parameters : current;
      });
    },
    (at) => at,
  );
  checkSchemaTexts(reading, parameters, pointer);
  return usable;
}

/** A refusal names the tool: a document may hold a hundred of them, and an error may be read far from it. */
function namingTool<T>(toolName: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw errorOf(error.code, `the parameters of ${toolName}: ${error.message}`, { details: error.details });
  }
}

export function readAfterExecution(
  reading: DocumentReading,
  parent: JsonObject,
  key: "after_execution" | "afterExecution",
  parentPointer: string,
): AfterExecution | undefined {
  const value = given(parent, key);
  if (value === undefined || isAfterExecution(value)) return value;
  const message = `${key} must be ${AFTER_EXECUTIONS.join(" or ")}, found ${shown(value)}`;
  reading.mistake("invalid_after_execution", `${parentPointer}/${key}`, message);
  return AFTER_EXECUTION_DEFAULT;
}

/** The checks of arguments against parameters. `originOf` says where a part of the definition was written. */
export function checkArguments(
  reading: DocumentReading,
  definition: ToolDefinition,
  { envAllowList }: ToolDocumentOptions,
  originOf: (pointer: string) => string,
): void {
  reading.check(() => checkArgumentOptions(definition, envAllowList === undefined ? {} : { envAllowList }), originOf);
}
