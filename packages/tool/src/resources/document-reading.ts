// One document being read: collects what is wrong with it and what is passed over, each with its place.
//
//   R1. Reading goes on after a mistake, so that an author sees them all.
//   R2. Codes are those of an upload; a bundle's mistakes carry the E_CONFIG code of the same meaning where there is one.
//   R3. A field that there is not is a mistake with the nearest name: a typo must not silently change what a tool does. Only
//       CommonGround's own documents may carry fields that mean nothing here (docs/protocol/documents.md#commonground): those are
//       named.

import {
  type ErrorCode,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  TesseraError,
  unknownField,
} from "@tessera/protocol";
import { type Mistake, mistakeOf, type Place, shown } from "./place.ts";
import type { YamlDocument } from "./yaml-document.ts";
import type { YamlKind } from "./yaml-limits.ts";

/** A key that was not used. */
export interface IgnoredKey extends Place {
  readonly file: string;
  readonly pointer: string;
}

export interface DocumentReading {
  readonly root: JsonObject;
  readonly source: YamlKind;
  readonly mistakes: readonly Mistake[];
  readonly ignored: readonly IgnoredKey[];
  mistake(code: ErrorCode, pointer: string, message: string, part?: "value" | "key"): void;
  /** Runs a check that throws TesseraErrors; `originOf` says where in the document its pointers lead. */
  check(task: () => void, originOf: (pointer: string) => string): void;
  /** R3. */
  refuseOthers(value: JsonObject, pointer: string, known: ReadonlySet<string>): void;
  /** R3, of a document that may have other fields. */
  passOverOthers(value: JsonObject, pointer: string, known: ReadonlySet<string>): void;
  ignore(pointer: string): void;
}

const BUNDLE_CODES: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  schema_invalid: "E_CONFIG_SCHEMA_INVALID",
  invalid_after_execution: "E_CONFIG_SCHEMA_INVALID",
  invalid_name: "E_CONFIG_INVALID_NAME",
};

export function startReading(document: YamlDocument, root: JsonObject, source: YamlKind): DocumentReading {
  const mistakes: Mistake[] = [];
  const ignored: IgnoredKey[] = [];
  const { file } = document;

  const mistake: DocumentReading["mistake"] = (code, pointer, message, part = "value") => {
    const shownCode = source === "bundle" ? (BUNDLE_CODES[code] ?? code) : code; // R2
    mistakes.push(mistakeOf(shownCode, { file, pointer, ...document.locate(pointer, part) }, message)); // R1
  };
  const ignore = (pointer: string): void => {
    ignored.push({ file, pointer, ...document.locate(pointer, "key") });
  };
  return {
    root,
    source,
    mistakes,
    ignored,
    mistake,
    ignore,
    check(task, originOf) {
      try {
        task();
      } catch (error) {
        if (!TesseraError.is(error)) throw error;
        const pointer = originOf(typeof error.details.pointer === "string" ? error.details.pointer : "");
        // Two checks may look at one field; the first to complain about it said enough.
        if (!mistakes.some((known) => known.pointer === pointer)) mistake(error.code, pointer, error.message);
      }
    },
    refuseOthers(value, pointer, known) {
      for (const key of Object.keys(value)) {
        if (known.has(key)) continue;
        mistake("schema_invalid", `${pointer}/${segment(key)}`, unknownField(key, [...known]), "key");
      }
    },
    passOverOthers(value, pointer, known) {
      for (const key of Object.keys(value)) if (!known.has(key)) ignore(`${pointer}/${segment(key)}`);
    },
  };
}

/** A key as a segment of a JSON pointer. */
export function segment(key: string): string {
  return key.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** A field that must be a mapping when it is there; an empty one (`options:`) is not there. */
export function mappingAt(
  reading: DocumentReading,
  parent: JsonObject,
  key: string,
  parentPointer: string,
): JsonObject | undefined {
  const value = given(parent, key);
  if (value === undefined || isJsonObject(value)) return value;
  const pointer = `${parentPointer}/${key}`;
  reading.mistake("schema_invalid", pointer, `${key} must be a mapping, found ${shown(value)}`);
  return undefined;
}

export function given(parent: JsonObject, key: string): JsonValue | undefined {
  return Object.hasOwn(parent, key) ? (parent[key] ?? undefined) : undefined;
}
