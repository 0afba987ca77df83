// One document being read: collects what is wrong with it and what is passed over, each with its place.
//
//   R1. Reading goes on after a mistake, so that an author sees them all.
//   R2. A field that there is not is a mistake with the nearest name: a typo must not silently change what an agent does.
//       Only an uploaded CommonGround profile may carry fields that mean nothing here (docs/protocol/documents.md#commonground):
//       those are named.
//   R3. A message shows at most a little of what was found, and nothing at all of what may be a secret.
//   R4. What was written in code has no line of its own: its messages name the resource and the field instead.

import {
  type ErrorCode,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  nearName,
  TesseraError,
  unknownField,
} from "@tessera/protocol";
import { type Mistake, mistakeOf, type Place, type YamlDocument } from "@tessera/tool/resources";

/** Something an author should know about, and that stops nothing. */
export interface BundleWarning extends Place {
  readonly file: string;
  readonly pointer: string;
  readonly message: string;
}

export interface ResourceReading {
  readonly root: JsonObject;
  readonly mistakes: readonly Mistake[];
  readonly warnings: readonly BundleWarning[];
  /** Keys that were not used, as pointers. */
  readonly ignored: readonly string[];
  mistake(code: ErrorCode, pointer: string, message: string, part?: "value" | "key"): void;
  /** A value that does not fit: `schema_invalid`, or the code of a bundle that means the same. */
  misfit(pointer: string, message: string, part?: "value" | "key"): void;
  warn(pointer: string, message: string): void;
  /** R2. */
  refuseOthers(mapping: Mapping, known: ReadonlySet<string>): void;
  /** R2, of a document that may have other fields. */
  passOverOthers(mapping: Mapping, known: ReadonlySet<string>): void;
}

/** A mapping and where it stands. */
export interface Mapping {
  readonly value: JsonObject;
  readonly pointer: string;
}

export interface ReadingOptions {
  readonly source: "bundle" | "upload";
  /** For what was written in code (R4). */
  readonly subject?: string;
}

const SHOWN_CHARS_MAX = 80;

export function startReading(
  document: Pick<YamlDocument, "file" | "locate" | "value">,
  { source, subject }: ReadingOptions,
): ResourceReading {
  const { file, value } = document;
  const mistakes: Mistake[] = [];
  const warnings: BundleWarning[] = [];
  const ignored: string[] = [];
  const said = (pointer: string, message: string): string =>
    subject === undefined ? message : `${subject}${pointer}: ${message}`; // R4

  const mistake: ResourceReading["mistake"] = (code, pointer, message, part = "value") => {
    mistakes.push(mistakeOf(code, { file, pointer, ...document.locate(pointer, part) }, said(pointer, message))); // R1
  };
  const warn = (pointer: string, message: string): void => {
    warnings.push(warningAt({ file, pointer, ...document.locate(pointer, "key") }, said(pointer, message)));
  };
  return {
    root: isJsonObject(value) ? value : {},
    mistakes,
    warnings,
    ignored,
    mistake,
    misfit: (pointer, message, part) =>
      mistake(source === "bundle" ? "E_CONFIG_SCHEMA_INVALID" : "schema_invalid", pointer, message, part),
    warn,
    refuseOthers(mapping, known) {
      for (const key of Object.keys(mapping.value)) {
        if (known.has(key)) continue;
        const code = source === "bundle" ? "E_CONFIG_SCHEMA_INVALID" : "schema_invalid";
        mistake(code, `${mapping.pointer}/${segment(key)}`, unknownField(key, [...known]), "key");
      }
    },
    passOverOthers(mapping, known) {
      for (const key of Object.keys(mapping.value)) {
        if (known.has(key)) continue;
        const pointer = `${mapping.pointer}/${segment(key)}`;
        ignored.push(pointer);
        const near = nearName(key, [...known]);
        const meant = near === undefined ? "" : `; did you mean \`${near}\`?`;
        warn(pointer, `${shown(key)} is not known here and does nothing${meant}`);
      }
    },
  };
}

export function warningAt(
  at: Place & { readonly file: string; readonly pointer?: string },
  message: string,
): BundleWarning {
  // The code of the mistake is not kept: a warning has none.
  const { code: _, ...rest } = mistakeOf("E_CONFIG_SCHEMA_INVALID", at, message);
  return rest;
}

/** Runs a check that throws TesseraErrors with `details.pointer`; the mistake lands at `origin` + that pointer. */
export function checkAt(reading: ResourceReading, origin: string, task: () => void): void {
  try {
    task();
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const inner = typeof error.details.pointer === "string" ? error.details.pointer : "";
    const prefix = `${inner}: `;
    const message = error.message.startsWith(prefix) ? error.message.slice(prefix.length) : error.message;
    reading.mistake(error.code, origin + inner, message);
  }
}

/** A key as a segment of a JSON pointer. */
export function segment(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A value as a message shows it: JSON, short (R3). */
export function shown(value: JsonValue | undefined): string {
  if (value === undefined) return "nothing";
  const text = JSON.stringify(value);
  return text.length <= SHOWN_CHARS_MAX ? text : `${text.slice(0, SHOWN_CHARS_MAX - 1).toWellFormed()}…`;
}

/** A field that was given; null, which is an empty YAML value, counts as absent. */
export function given(mapping: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(mapping, key) ? (mapping[key] ?? undefined) : undefined;
}
