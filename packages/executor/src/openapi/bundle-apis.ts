// The APIs of a bundle: each names an OpenAPI document of the bundle, whose operations become tools.
//
//   B1. The document lies inside the bundle after every link is followed, and is a file of no more than a bundle file's
//       size.
//   B2. It passes the gate of its form before anything looks at it: `.json` the JSON gate, everything else the YAML one.
//   B3. Whatever is wrong with it is a mistake at the place of the resource that names it; the message names the document,
//       and its line where that is known. An API with a mistake gives no tools.

import { readFile, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  BUNDLE_FILE_BYTES_MAX,
  type ErrorCode,
  errorOf,
  type JsonValue,
  parseJson,
  TesseraError,
} from "@tessera/protocol";
import type { RegisteredTool } from "@tessera/tool";
import { type DocumentApi, type Mistake, mistakeOf, readYaml } from "@tessera/tool/resources";
import { isInside } from "../loader/entry-path.ts";
import { openApiTools } from "./document-tools.ts";

/** What a bundle calls the refusals of a document. */
const BUNDLE_CODES: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  bad_request: "E_CONFIG_SCHEMA_INVALID",
  schema_invalid: "E_CONFIG_SCHEMA_INVALID",
  invalid_json: "E_CONFIG_PARSE_ERROR",
  invalid_name: "E_CONFIG_INVALID_NAME",
};

/** `root` is a real path. Mistakes are added to the list. */
export async function loadApi(api: DocumentApi, root: string, mistakes: Mistake[]): Promise<RegisteredTool[]> {
  const { document: path, file, line, column, ...options } = api;
  try {
    const document = parseDocument(await readDocument(path, root), path);
    const definitions = openApiTools(document, options);
    if (definitions.length === 0) throw errorOf("E_CONFIG_SCHEMA_INVALID", "the document has no operations");
    return definitions.map((definition) => ({ definition, code: null }));
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    const message = error.message.startsWith(`${path}:`) ? error.message : `${path}: ${error.message}`;
    const code = BUNDLE_CODES[error.code] ?? error.code;
    mistakes.push(mistakeOf(code, { file, line, column, pointer: "/spec/openapi/document" }, message)); // B3
    return [];
  }
}

/** B1. */
async function readDocument(path: string, root: string): Promise<Uint8Array> {
  const notFound = (why: string) => errorOf("E_CONFIG_REF_NOT_FOUND", `the document ${why}`, { details: { path } });
  const real = await realpath(join(root, path)).catch(() => null);
  if (real === null) throw notFound("does not exist");
  if (!isInside(real, root)) throw notFound("lies outside the bundle");
  const found = await stat(real);
  if (!found.isFile()) throw notFound("is not a file");
  if (found.size > BUNDLE_FILE_BYTES_MAX) {
    const message = `the document has ${found.size} bytes; at most ${BUNDLE_FILE_BYTES_MAX} are allowed`;
    throw errorOf("E_CONFIG_FILE_TOO_LARGE", message);
  }
  return await readFile(real).catch((cause: unknown) => {
    throw errorOf("E_CONFIG_REF_NOT_FOUND", "the document cannot be read", { details: { path }, cause });
  });
}

/** B2. */
function parseDocument(bytes: Uint8Array, path: string): JsonValue {
  if (path.toLowerCase().endsWith(".json")) return parseJson(bytes, { bytesMax: BUNDLE_FILE_BYTES_MAX });
  const documents = readYaml(bytes, { kind: "bundle", file: path });
  const [first] = documents;
  if (first === undefined || documents.length > 1) {
    throw errorOf("E_CONFIG_SCHEMA_INVALID", `the file holds ${documents.length} documents in place of one`);
  }
  return first.value;
}
