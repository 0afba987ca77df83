// Descriptions: text that a model obeys and a person reviews, so both must see the same.
//
//   D1. What is invisible or turns the reading direction is refused, not stripped: its author should know.
//   D2. Descriptions inside the parameters reach the model just the same and obey the same rule.

import { DESCRIPTION_BYTES_MAX, isJsonObject, type JsonValue } from "@tessera/protocol";
import { type DocumentReading, given, segment } from "./document-reading.ts";
import { shown } from "./place.ts";

// Controls but tab and newline; soft hyphen; bidi marks, embeddings, overrides and isolates; zero-width characters and
// invisible operators; line and paragraph separators; interlinear marks; tag characters and variation selectors' supplement.
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e0fff}]/u;

/** The description at `parentPointer`, or an empty one. */
export function readDescription(
  reading: DocumentReading,
  parent: Parameters<typeof given>[0],
  parentPointer: string,
): string {
  const value = given(parent, "description");
  if (value === undefined) return "";
  const pointer = `${parentPointer}/description`;
  if (typeof value !== "string") {
    reading.mistake("schema_invalid", pointer, `description must be text, found ${shown(value)}`);
    return "";
  }
  checkText(reading, value, pointer);
  return value;
}

/** Titles and descriptions anywhere in a schema (D2). Depth was limited by the gate: recursion is safe. */
export function checkSchemaTexts(reading: DocumentReading, schema: JsonValue, pointer: string): void {
  if (Array.isArray(schema)) {
    for (const [index, item] of schema.entries()) checkSchemaTexts(reading, item, `${pointer}/${index}`);
  } else if (isJsonObject(schema)) {
    for (const [key, value] of Object.entries(schema)) {
      const at = `${pointer}/${segment(key)}`;
      if (typeof value !== "string") checkSchemaTexts(reading, value, at);
      else if (key === "description" || key === "title") checkText(reading, value, at);
    }
  }
}

function checkText(reading: DocumentReading, text: string, pointer: string): void {
  const bytes = Buffer.byteLength(text);
  if (bytes > DESCRIPTION_BYTES_MAX) {
    const message = `a description has ${bytes} bytes; at most ${DESCRIPTION_BYTES_MAX} are allowed`;
    reading.mistake("schema_invalid", pointer, message);
  }
  const unseen = UNSEEN.exec(text);
  if (unseen !== null) {
    const code = (unseen[0].codePointAt(0) as number).toString(16).toUpperCase().padStart(4, "0");
    const message = `a description holds the character U+${code} at ${unseen.index}, which is invisible; remove it`;
    reading.mistake("schema_invalid", pointer, message); // D1
  }
}
