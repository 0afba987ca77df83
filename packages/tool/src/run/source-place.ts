// Where a place in a built file was written: what its source map says, read on request.
//
// Asked when something has failed, and never before: a process that has Node read source maps pays for each module that it
// loads, and the process may be another program.
//
//   P1. Never throws: a map that is missing, broken, too large or elsewhere than on this disk says nothing.
//   P2. A few maps are kept, until their file changes: the tool that fails may do so in each of its calls.

import { readFileSync, statSync } from "node:fs";
import { SourceMap, type SourceMapPayload } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

export interface SourcePlace {
  readonly file: string;
  /** Both from 1. */
  readonly line: number;
  readonly column: number;
}

const BUILT_FILE = /\.[cm]?jsx?$/;
const MAP_BYTES_MAX = 16 * 1024 * 1024;
const MAPS_KEPT_MAX = 8;
const MAP_MARK = "//# sourceMappingURL=";
const DATA_URL = /^data:application\/json[^,]*?(?<base64>;base64)?,(?<data>.*)$/s;

interface KeptMap {
  readonly version: string;
  readonly map: SourceMap | null;
  /** What its sources are relative to. */
  readonly directory: string;
}

const kept = new Map<string, KeptMap>();

/** The place itself where there is nothing better to say. */
export function sourcePlace(place: SourcePlace): SourcePlace {
  if (!BUILT_FILE.test(place.file)) return place;
  try {
    const { map, directory } = mapOf(place.file);
    const origin = map?.findOrigin(place.line, place.column);
    if (origin === undefined || !("fileName" in origin) || typeof origin.fileName !== "string") return place;
    const { fileName, lineNumber, columnNumber } = origin;
    return { file: fileOf(fileName, directory), line: lineNumber, column: columnNumber };
  } catch {
    return place; // P1
  }
}

/** P2 */
function mapOf(file: string): KeptMap {
  const { size, mtimeMs } = statSync(file);
  const version = `${size}/${mtimeMs}`;
  const known = kept.get(file);
  kept.delete(file);
  const read = known?.version === version ? known : { version, ...readMap(file, size) };
  kept.set(file, read); // the newest last
  for (const [oldest] of kept) if (kept.size > MAPS_KEPT_MAX) kept.delete(oldest);
  return read;
}

function readMap(file: string, size: number): Omit<KeptMap, "version"> {
  const nothing = { map: null, directory: dirname(file) };
  if (size > MAP_BYTES_MAX) return nothing;
  const source = readFileSync(file, "utf8");
  const mark = source.lastIndexOf(MAP_MARK);
  if (mark < 0) return nothing;
  const url = source.slice(mark + MAP_MARK.length).trim();
  const inline = DATA_URL.exec(url)?.groups;
  if (inline !== undefined) {
    const { data = "", base64 } = inline;
    const text = base64 === undefined ? decodeURIComponent(data) : Buffer.from(data, "base64").toString();
    return { map: parsed(text), directory: dirname(file) };
  }
  const path = fileOf(url, dirname(file));
  if (statSync(path).size > MAP_BYTES_MAX) return nothing;
  return { map: parsed(readFileSync(path, "utf8")), directory: dirname(path) };
}

function parsed(text: string): SourceMap {
  return new SourceMap(JSON.parse(text) as SourceMapPayload);
}

/** A path as it is seen from a directory; what is no file, such as `webpack://app/x.ts`, stays as it is. */
function fileOf(name: string, directory: string): string {
  if (name.startsWith("file:")) return fileURLToPath(name);
  return /^[a-z][a-z+.-]+:/i.test(name) ? name : resolve(directory, name);
}
