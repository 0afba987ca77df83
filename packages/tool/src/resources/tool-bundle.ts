// The resource files of a bundle: its tools as definitions, its other resources as documents
// (docs/protocol/documents.md#goondan).
//
//   B1. Everything wrong in every file is reported at once; one bad file does not hide another.
//   B2. A name is unique among the resources of its kind, across all files.
//   B3. A document that does not say that it is a resource is not ours and is passed over.
//   B4. A resource with a mistake is named all the same, even one in a file that is no YAML: what refers to it has no
//       mistake, and what has nearly its name can be reported so.

import { isJsonObject, TesseraError } from "@tessera/protocol";
import { type IgnoredKey, startReading } from "./document-reading.ts";
import { type Mistake, mistakeOf, mistakesOf, type Place } from "./place.ts";
import { isResource, type ResourceKind, readResourceHead } from "./resource-head.ts";
import { type DocumentApi, type DocumentTool, toolDefinitionsOf } from "./tool-document.ts";
import type { YamlDocument } from "./yaml-document.ts";
import { readYaml } from "./yaml-gate.ts";

export interface BundleFile {
  readonly path: string;
  readonly text: string | Uint8Array;
}

/** A resource of another kind: the reader of that kind reads its document. */
export interface BundleResource extends Place {
  readonly kind: Exclude<ResourceKind, "Tool">;
  readonly name: string;
  readonly file: string;
  readonly document: YamlDocument;
}

/** A resource that has a mistake (B4). The kind is as written. */
export interface UnreadResource {
  readonly kind: string;
  readonly name: string;
  readonly file: string;
  readonly line: number;
}

export interface ToolBundle {
  readonly tools: readonly DocumentTool[];
  /** Tool resources whose tools are in OpenAPI documents. */
  readonly apis: readonly DocumentApi[];
  readonly others: readonly BundleResource[];
  readonly unread: readonly UnreadResource[];
  readonly ignored: readonly IgnoredKey[];
  readonly mistakes: readonly Mistake[];
}

export function readToolBundle(files: readonly BundleFile[]): ToolBundle {
  const tools: DocumentTool[] = [];
  const apis: DocumentApi[] = [];
  const others: BundleResource[] = [];
  const unread: UnreadResource[] = [];
  const ignored: IgnoredKey[] = [];
  const mistakes: Mistake[] = [];
  const firstOf = new Map<string, YamlDocument>();

  for (const file of files) {
    for (const document of readDocuments(file, mistakes, unread)) {
      const { value } = document;
      if (!isResource(value)) continue; // B3
      const reading = startReading(document, value, "bundle");
      const head = readResourceHead(reading);
      const repeated = head === null ? null : findRepeated(head, document, firstOf);
      if (repeated !== null) mistakes.push(repeated); // the first one stands
      if (value.kind === "Tool") {
        const read = toolDefinitionsOf(document, { source: "bundle" });
        if (repeated === null) tools.push(...read.tools);
        if (repeated === null && read.api !== null) apis.push(read.api);
        ignored.push(...read.ignored);
        mistakes.push(...read.mistakes);
        if (read.mistakes.length > 0) unread.push(...headsOf(document));
        continue;
      }
      mistakes.push(...reading.mistakes);
      if (reading.mistakes.length > 0) unread.push(...headsOf(document));
      if (head === null || head.kind === "Tool" || repeated !== null || reading.mistakes.length > 0) continue;
      others.push({ kind: head.kind, name: head.name, file: file.path, ...document.locate(""), document });
    }
  }
  return { tools, apis, others, unread, ignored, mistakes };
}

function readDocuments(file: BundleFile, mistakes: Mistake[], unread: UnreadResource[]): readonly YamlDocument[] {
  try {
    return readYaml(file.text, { kind: "bundle", file: file.path });
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    mistakes.push(...mistakesOf(error)); // B1
    unread.push(...headsInText(file));
    return [];
  }
}

/** B4: kind and name of a document that has a mistake elsewhere. */
function headsOf({ file, value, locate }: YamlDocument): UnreadResource[] {
  if (!isJsonObject(value) || typeof value.kind !== "string" || !isJsonObject(value.metadata)) return [];
  const { name } = value.metadata;
  return typeof name === "string" ? [{ kind: value.kind, name, file, line: locate("").line }] : [];
}

/** B4: as far as lines show it. */
function headsInText({ path, text }: BundleFile): UnreadResource[] {
  const lines = (typeof text === "string" ? text : new TextDecoder().decode(text)).split("\n", LINES_MAX);
  const heads: UnreadResource[] = [];
  let kind: string | undefined;
  let isMetadata = false;
  for (const [index, line] of lines.entries()) {
    if (line.startsWith("---")) kind = undefined;
    kind = /^kind:\s*["']?([A-Za-z]{1,32})/.exec(line)?.[1] ?? kind;
    const name = /^(?: +name|metadata:\s*\{\s*name):\s*["']?([a-z][a-z0-9-]{0,62})/.exec(line)?.[1];
    isMetadata = line.startsWith("metadata:") || (isMetadata && /^(?: |#|$)/.test(line));
    if (!isMetadata || name === undefined || kind === undefined) continue;
    heads.push({ kind, name, file: path, line: index + 1 });
    isMetadata = false;
  }
  return heads;
}

const LINES_MAX = 50_000;

/** B2. */
function findRepeated(
  { kind, name }: { readonly kind: ResourceKind; readonly name: string },
  document: YamlDocument,
  firstOf: Map<string, YamlDocument>,
): Mistake | null {
  const key = `${kind}/${name}`;
  const first = firstOf.get(key);
  if (first === undefined) {
    firstOf.set(key, document);
    return null;
  }
  const pointer = "/metadata/name";
  const place = first.locate(pointer);
  const message = `${key} is already defined in ${first.file}:${place.line}:${place.column}; rename one`;
  const at = { file: document.file, pointer, ...document.locate(pointer) };
  return mistakeOf("E_CONFIG_DUPLICATE_NAME", at, message);
}
