// The resource files of a bundle: its tools as definitions, its other resources as documents (reference §12).
//
//   B1. Everything wrong in every file is reported at once; one bad file does not hide another.
//   B2. A name is unique among the resources of its kind, across all files.
//   B3. A document that does not say that it is a resource is somebody else's and passed over.

import { CGError } from "@tessera/protocol";
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

/** A resource of another kind: whoever knows the kind reads its document. */
export interface BundleResource extends Place {
  readonly kind: Exclude<ResourceKind, "Tool">;
  readonly name: string;
  readonly file: string;
  readonly document: YamlDocument;
}

export interface ToolBundle {
  readonly tools: readonly DocumentTool[];
  /** Tool resources whose tools are in OpenAPI documents. */
  readonly apis: readonly DocumentApi[];
  readonly others: readonly BundleResource[];
  readonly ignored: readonly IgnoredKey[];
  readonly mistakes: readonly Mistake[];
}

export function readToolBundle(files: readonly BundleFile[]): ToolBundle {
  const tools: DocumentTool[] = [];
  const apis: DocumentApi[] = [];
  const others: BundleResource[] = [];
  const ignored: IgnoredKey[] = [];
  const mistakes: Mistake[] = [];
  const firstOf = new Map<string, YamlDocument>();

  for (const file of files) {
    for (const document of readDocuments(file, mistakes)) {
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
        continue;
      }
      mistakes.push(...reading.mistakes);
      if (head === null || head.kind === "Tool" || repeated !== null || reading.mistakes.length > 0) continue;
      others.push({ kind: head.kind, name: head.name, file: file.path, ...document.locate(""), document });
    }
  }
  return { tools, apis, others, ignored, mistakes };
}

function readDocuments(file: BundleFile, mistakes: Mistake[]): readonly YamlDocument[] {
  try {
    return readYaml(file.text, { kind: "bundle", file: file.path });
  } catch (error) {
    if (!CGError.is(error)) throw error;
    mistakes.push(...mistakesOf(error)); // B1
    return [];
  }
}

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
