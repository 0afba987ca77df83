// The YAML gate: text from outside to documents that everything after may trust (docs/design.md#limits).
//
//   Y1. Size before scanning, depth and counts while scanning, values last through the JSON gate: hostile text costs an
//       error and little time.
//   Y2. YAML 1.2 core schema and nothing beyond JSON: no tags but the core ones, no merge keys, no duplicate keys, only
//       strings as keys. A warning of the library is an error here: it means that a value is not what it looks like.
//   Y3. An upload is one mapping without aliases. A bundle file may hold many documents of any shape and a few aliases.
//   Y4. Every refusal is a TesseraError whose message starts with `file:line:col: ` and whose details name the place.

import { type ErrorCode, gateJson, isJsonObject, type JsonValue, TesseraError } from "@tessera/protocol";
import { Composer, type CST, type Document, type YAMLError } from "yaml";
import { errorOfMistakes, mistakeOf, placesOf } from "./place.ts";
import { offsetOf, type YamlDocument } from "./yaml-document.ts";
import { YAML_LIMITS, type YamlKind, type YamlLimits } from "./yaml-limits.ts";
import { scanYaml } from "./yaml-scan.ts";
import { findStructureRefusal } from "./yaml-structure.ts";

export interface YamlSource {
  readonly kind: YamlKind;
  /** As messages name it. */
  readonly file: string;
}

/** One reading of one file. */
interface Reading {
  readonly text: string;
  readonly limits: YamlLimits;
  readonly refusal: (code: ErrorCode, offset: number, message: string, more?: RefusalMore) => TesseraError;
}
interface RefusalMore {
  readonly pointer?: string;
  readonly cause?: unknown;
}

/** Reads a file's documents, or refuses it at the first thing that is wrong. */
export function readYaml(input: string | Uint8Array, source: YamlSource): readonly YamlDocument[] {
  const limits = YAML_LIMITS[source.kind];
  const text = decodeWithin(input, limits, source.file);
  const placeAt = placesOf(text);
  const refusal: Reading["refusal"] = (code, offset, message, { pointer, cause } = {}) => {
    const at = { file: source.file, ...placeAt(offset), ...(pointer === undefined ? {} : { pointer }) };
    return errorOfMistakes([mistakeOf(code, at, message)], cause); // Y4
  };
  const reading = { text, limits, refusal };

  const documents = composeDocuments(reading).map((document, index): YamlDocument => {
    const value = jsonOf(document, reading);
    if (source.kind === "upload" && !isJsonObject(value)) {
      throw refusal("root_must_be_mapping", offsetOf(document, "", "value"), ROOT_MESSAGE); // Y3
    }
    const locate: YamlDocument["locate"] = (pointer, part = "value") => placeAt(offsetOf(document, pointer, part));
    return { file: source.file, index, value, locate };
  });
  if (source.kind === "upload" && documents.length === 0) throw refusal("root_must_be_mapping", 0, ROOT_MESSAGE);
  return documents;
}

const ROOT_MESSAGE = "the document must be a mapping of fields, and it is empty or something else";
const START = { line: 1, column: 1 };
const UTF8 = new TextDecoder("utf-8", { fatal: true });

/** The text without its byte order mark. Sizes are checked before anything is decoded (Y1). */
function decodeWithin(input: string | Uint8Array, limits: YamlLimits, file: string): string {
  const bytes = typeof input === "string" ? Buffer.byteLength(input) : input.byteLength;
  if (bytes > limits.bytesMax) {
    const message = `the file has ${bytes} bytes; at most ${limits.bytesMax} are allowed`;
    throw errorOfMistakes([mistakeOf(limits.codes.too_large, { file, ...START }, message)]);
  }
  try {
    const text = typeof input === "string" ? input : UTF8.decode(input);
    if (text.isWellFormed()) return text.startsWith("\ufeff") ? text.slice(1) : text;
    throw new TypeError("the text holds half of a surrogate pair");
  } catch (cause) {
    throw errorOfMistakes([mistakeOf("invalid_encoding", { file, ...START }, "the file is not UTF-8")], cause);
  }
}

/** What YAML does not allow unescaped. The lexer marks tokens with some of them and must never meet one in a text. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL_CHARACTER = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;

function composeDocuments({ text, limits, refusal }: Reading): readonly Document.Parsed[] {
  const control = text.search(CONTROL_CHARACTER);
  if (control !== -1) {
    throw refusal(limits.codes.syntax, control, "a control character stands in the text; write it as an escape");
  }
  const scan = scanYaml(text, limits);
  switch (scan.kind) {
    case "too_deep":
      throw refusal("too_deep", scan.offset, `values are nested deeper than ${limits.depthMax}`);
    case "too_many_aliases":
      throw refusal("aliases_not_allowed", scan.offset, `at most ${limits.aliasesMax} aliases are allowed in one file`);
    case "too_many_documents":
      throw refusal(
        limits.codes.too_many_documents,
        scan.offset,
        `document ${limits.documentsMax + 1} begins here; at most ${limits.documentsMax} allowed`,
      );
    case "tokens":
      break;
  }
  const { documents, findings } = compose(scan.tokens);
  const first = findings.toSorted((a, b) => a.pos[0] - b.pos[0])[0];
  if (first !== undefined) throw syntaxRefusal(first, { text, limits, refusal });
  for (const document of documents) {
    const found = findStructureRefusal(document);
    if (found !== null) {
      const code = found.kind === "merge_key" ? "aliases_not_allowed" : limits.codes.syntax;
      throw refusal(code, found.offset, found.message);
    }
  }
  return documents;
}

interface Composed {
  readonly documents: readonly Document.Parsed[];
  readonly findings: readonly YAMLError[];
}

function compose(tokens: readonly CST.Token[]): Composed {
  // The library makes an Error for everything that is wrong, and a text may be wrong at every character. Their stacks
  // took four fifths of the time (2 s for 200,000 commas), and only the first finding is ever shown.
  const { stackTraceLimit } = Error;
  Reflect.set(Error, "stackTraceLimit", 0);
  try {
    const composer = new Composer(COMPOSE_OPTIONS);
    const documents: Document.Parsed[] = [];
    for (const token of tokens) documents.push(...composer.next(token));
    documents.push(...composer.end());
    const { errors, warnings } = composer.streamInfo();
    return { documents, findings: [...documents.flatMap((d) => [...d.errors, ...d.warnings]), ...errors, ...warnings] };
  } finally {
    Reflect.set(Error, "stackTraceLimit", stackTraceLimit);
  }
}

/** Y2. `uniqueKeys` is off because yaml-structure.ts does it in linear time. */
const COMPOSE_OPTIONS = {
  version: "1.2",
  schema: "core",
  strict: true,
  merge: false,
  resolveKnownTags: false,
  stringKeys: true,
  uniqueKeys: false,
  logLevel: "silent",
} as const;

function syntaxRefusal(finding: YAMLError, { text, limits, refusal }: Reading): TesseraError {
  const offset = Math.min(finding.pos[0], text.length);
  const isAboutTag = finding.code === "TAG_RESOLVE_FAILED" || finding.code === "BAD_COLLECTION_TYPE";
  if (isAboutTag || text[offset] === "!") {
    return refusal("tag_not_allowed", offset, `only the plain values of YAML are allowed, no tag: ${finding.message}`);
  }
  if (finding.code === "RESOURCE_EXHAUSTION") {
    return refusal("too_deep", offset, `values are nested deeper than ${limits.depthMax}`);
  }
  const message = finding.code === "NON_STRING_KEY" ? "a key must be a string" : finding.message;
  return refusal(limits.codes.syntax, offset, message);
}

function jsonOf(document: Document.Parsed, { limits, refusal }: Reading): JsonValue {
  let raw: unknown;
  try {
    raw = document.toJS({ maxAliasCount: limits.aliasesMax });
  } catch (cause) {
    // Few aliases can still unfold into very much.
    const message = "the aliases unfold into more than is allowed; write the values out";
    throw refusal("aliases_not_allowed", offsetOf(document, "", "value"), message, { cause });
  }
  try {
    return gateJson(raw, { bytesMax: limits.bytesMax, depthMax: limits.depthMax });
  } catch (cause) {
    if (!TesseraError.is(cause)) throw cause;
    const pointer = typeof cause.details.pointer === "string" ? cause.details.pointer : "";
    const part = cause.code === "forbidden_key" ? "key" : "value";
    throw refusal(codeOfGate(cause.code, limits), offsetOf(document, pointer, part), cause.message, { pointer, cause });
  }
}

function codeOfGate(code: ErrorCode, { codes }: YamlLimits): ErrorCode {
  if (code === "payload_too_large") return codes.too_large;
  return code === "schema_invalid" ? codes.schema : code;
}
