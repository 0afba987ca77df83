// The CommonGround form of a tool: one flat mapping, the fields of `resource.tools` (docs/protocol/documents.md#commonground).

import { AFTER_EXECUTION_DEFAULT, type JsonObject, parseTargetSubject } from "@tessera/protocol";
import type { ToolDefinition } from "../definition.ts";
import { readDescription } from "./description.ts";
import { type DocumentReading, given, mappingAt } from "./document-reading.ts";
import { shown } from "./place.ts";
import {
  checkArguments,
  checkToolName,
  readAfterExecution,
  readParameters,
  type ToolDocumentOptions,
  type ToolDraft,
} from "./tool-draft.ts";
import { checkTimeouts, readOptions } from "./tool-options.ts";

const KNOWN_KEYS: ReadonlySet<string> = new Set([
  "tool_name",
  "name",
  "description",
  "target_subject",
  "after_execution",
  "parameters",
  "options",
]);

export function readCommonGroundTool(reading: DocumentReading, options: ToolDocumentOptions): readonly ToolDraft[] {
  const { root } = reading;
  const nameKey = given(root, "tool_name") === undefined ? "name" : "tool_name";
  const tool_name = readRequiredText(reading, root, nameKey, "tool_name");
  if (tool_name !== "") checkToolName(reading, tool_name, `/${nameKey}`);
  const description = readDescription(reading, root, "");
  const target_subject = readRequiredText(reading, root, "target_subject");
  const subject = readSubject(reading, target_subject, options);
  const after_execution = readAfterExecution(reading, root, "after_execution", "");
  if (after_execution === undefined) missing(reading, "after_execution");
  const parameters = readParameters(reading, root, "", tool_name);
  const toolOptions = readOptions(reading, mappingAt(reading, root, "options", "") ?? {}, "/options");
  // A timeout beside the options does nothing; a senseless one is refused all the same, because its author relies on it.
  checkTimeouts(reading, root, "");
  reading.passOverOthers(root, "", KNOWN_KEYS);
  if (nameKey === "tool_name" && given(root, "name") !== undefined && root.name !== tool_name) reading.ignore("/name");

  const definition: ToolDefinition = {
    tool_name,
    description,
    parameters,
    target_subject,
    after_execution: after_execution ?? AFTER_EXECUTION_DEFAULT,
    options: toolOptions,
  };
  checkArguments(reading, definition, options, (pointer) => pointer);
  return [{ definition, export_name: subject?.action ?? "", pointer: "" }];
}

function readSubject(
  reading: DocumentReading,
  template: string,
  { projectId }: ToolDocumentOptions,
): ReturnType<typeof parseTargetSubject> | undefined {
  let subject: ReturnType<typeof parseTargetSubject> | undefined;
  if (template === "") return undefined;
  reading.check(
    () => {
      subject = parseTargetSubject(template, projectId === undefined ? {} : { project_id: projectId });
    },
    () => "/target_subject",
  );
  return subject;
}

function readRequiredText(reading: DocumentReading, root: JsonObject, key: string, shownKey = key): string {
  const value = given(root, key);
  if (value === undefined) missing(reading, shownKey);
  else if (typeof value !== "string" || value === "") {
    reading.mistake("schema_invalid", `/${key}`, `${key} must be text, found ${shown(value)}`);
  } else return value;
  return "";
}

function missing(reading: DocumentReading, key: string): void {
  reading.mistake("schema_invalid", `/${key}`, `${key} is missing`);
}
