// One YAML document that passed the gate: its value, and where each part of it stands in the file.
//
//   D1. The value is JSON: what came through the JSON gate, in null-prototype objects.
//   D2. `locate` answers for every pointer. What is not there is located at its nearest ancestor that is, so that
//       "missing field" points to the mapping that lacks it.
//   D3. Locating costs the depth of the pointer, not the size of its mappings: a document may hold tens of thousands of keys
//       that is not known, and each of them is located.

import type { JsonValue } from "@tessera/protocol";
import { type Document, isAlias, isMap, isScalar, isSeq, type ParsedNode, type YAMLMap } from "yaml";
import type { Place } from "./place.ts";

type ParsedPair = YAMLMap.Parsed["items"][number];

export interface YamlDocument {
  readonly file: string;
  /** 0 for the first document of the file. */
  readonly index: number;
  readonly value: JsonValue; // D1
  /** The place of a value by its JSON pointer, or of the key that names it. */
  locate(pointer: string, part?: "value" | "key"): Place; // D2
}

/** The offset of a pointer's value or key in the text. */
export function offsetOf(document: Document.Parsed, pointer: string, part: "value" | "key"): number {
  let node: ParsedNode | null = document.contents;
  let offset = startOf(node) ?? document.range[0];
  for (const segment of segmentsOf(pointer)) {
    const container: ParsedNode | null = isAlias(node)
      ? ((node.resolve(document) as ParsedNode | undefined) ?? null)
      : node;
    let key: ParsedNode | null = null;
    if (isMap(container)) {
      const pair = pairsOf(container).get(segment);
      if (pair === undefined) return offset;
      key = pair.key as ParsedNode;
      node = (pair.value ?? null) as ParsedNode | null;
    } else if (isSeq(container)) {
      const item = container.items[Number(segment)];
      if (item === undefined) return offset;
      node = item as ParsedNode;
    } else {
      return offset;
    }
    // A value that was left empty has no place of its own; its key has.
    const ofKey = startOf(key);
    const ofValue = isEmptyScalar(node) ? null : startOf(node);
    offset = (part === "key" ? (ofKey ?? ofValue) : (ofValue ?? ofKey)) ?? offset;
  }
  return offset;
}

/** Looked up by a table that is made once (D3). */
const tables = new WeakMap<YAMLMap.Parsed, ReadonlyMap<string, ParsedPair>>();

function pairsOf(mapping: YAMLMap.Parsed): ReadonlyMap<string, ParsedPair> {
  const known = tables.get(mapping);
  if (known !== undefined) return known;
  const pairs = new Map<string, ParsedPair>();
  for (const pair of mapping.items) {
    const name = isScalar(pair.key) ? String(pair.key.value) : null;
    if (name !== null && !pairs.has(name)) pairs.set(name, pair);
  }
  tables.set(mapping, pairs);
  return pairs;
}

function startOf(node: ParsedNode | null): number | null {
  return node?.range?.[0] ?? null;
}

/** `/a~1b/0` → `["a/b", "0"]`. */
function segmentsOf(pointer: string): readonly string[] {
  if (pointer === "") return [];
  return pointer
    .slice(1)
    .split("/")
    .map((segment) => segment.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function isEmptyScalar(node: ParsedNode | null): boolean {
  return isScalar(node) && node.value === null && node.source === "";
}
