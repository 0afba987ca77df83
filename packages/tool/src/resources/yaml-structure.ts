// What a composed document may not hold although it is YAML: merge keys, duplicate keys, aliases without an anchor.
//
//   T1. Keys are compared by the set of what was seen, not pair by pair as the library does: 40,000 keys in one mapping
//       took it 14 seconds.
//   T2. An anchor counts only after its node has ended. So an alias inside its own node is refused like one to nothing.

import { type Document, isAlias, isMap, isScalar, isSeq, type ParsedNode } from "yaml";
import { shown } from "./place.ts";

export interface StructureRefusal {
  readonly kind: "merge_key" | "duplicate_key" | "dangling_alias";
  readonly offset: number;
  readonly message: string;
}

/** The first thing in the document that is not allowed, or null. Depth was limited before: recursion is safe. */
export function findStructureRefusal(document: Document.Parsed): StructureRefusal | null {
  return findIn(document.contents, new Set());
}

function findIn(node: ParsedNode | null, anchors: Set<string>): StructureRefusal | null {
  const offset = node?.range[0] ?? 0;
  let found: StructureRefusal | null = null;
  if (isAlias(node)) {
    if (!anchors.has(node.source)) {
      return {
        kind: "dangling_alias",
        offset,
        message: `the alias ${shown(`*${node.source}`)} has no anchor before it`,
      };
    }
    return null;
  }
  if (isMap(node)) {
    const keys = new Set<string>(); // T1
    for (const pair of node.items) {
      const key = pair.key as ParsedNode;
      found = findInKey(key, keys) ?? findIn(key, anchors) ?? findIn(pair.value as ParsedNode | null, anchors);
      if (found !== null) return found;
    }
  } else if (isSeq(node)) {
    for (const item of node.items) {
      found = findIn(item as ParsedNode, anchors);
      if (found !== null) return found;
    }
  }
  if (node?.anchor !== undefined) anchors.add(node.anchor); // T2
  return null;
}

function findInKey(key: ParsedNode, keys: Set<string>): StructureRefusal | null {
  if (!isScalar(key)) return null; // the composer refused it
  const offset = key.range[0];
  const name = String(key.value);
  if (name === "<<" && key.type === "PLAIN") {
    return { kind: "merge_key", offset, message: "merge keys (<<) are not allowed; write the values out" };
  }
  if (keys.has(name)) {
    return { kind: "duplicate_key", offset, message: `the key ${shown(name)} appears twice in one mapping` };
  }
  keys.add(name);
  return null;
}
