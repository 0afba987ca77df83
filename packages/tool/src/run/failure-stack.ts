// What was thrown, for finding the mistake: the stack, its author's frames first, and what caused it.
//
//   F1. For the log and for operators, never for a card: it names files, and its messages may repeat values.
//   F2. Never throws, whatever was thrown; plain text of bounded size.
//   F3. Of each error: its message, the frames of the author's files in their order, those of libraries, and how many were
//       Tessera's and Node's. Where no other frame is left, the fault is ours, and ours are shown.
//   F4. Places are those of the sources, where a source map leads to them (source-place.ts).
//   F5. In pieces, because it is masked after it was cut: what a piece was cut in is at its end (the mask's M3).

import { dirname, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { PACKAGES } from "@tessera/protocol";
import { ToolError } from "../tool-error.ts";
import { type SourcePlace, sourcePlace } from "./source-place.ts";
import { isTesseraError, read, safeText, storable } from "./thrown-error.ts";

/** Lines of a stack; each holds whole frames, or a message with its own line breaks. */
export type FailureStack = readonly string[];

const PIECES_MAX = 128;
const MESSAGE_CHARS_MAX = 4_000;
const FRAME_CHARS_MAX = 1_000;
/** Of one error, and of what is read of a stack that code made up. */
const FRAMES_MAX = 32;
const STACK_CHARS_READ_MAX = 256 * 1024;
const CAUSES_MAX = 8;
/** Of an AggregateError. */
const ERRORS_MAX = 8;

export function failureStack(thrown: unknown): FailureStack {
  const pieces: string[] = [];
  try {
    describe(thrown, "", { pieces, seen: new Set(), causesLeft: CAUSES_MAX });
  } catch {
    pieces.push("a value that cannot be shown"); // F2
  }
  return pieces.slice(0, PIECES_MAX);
}

/** Why a handler failed, as it may cross a process border. */
export interface ThrownFailure {
  readonly stack: FailureStack;
  /** On purpose: by a ToolError, with a suggestion for the model, or with a code of the catalogue that says what is wrong. */
  readonly isMeant: boolean;
}

export function failureOf(thrown: unknown): ThrownFailure {
  const isMeant = ToolError.is(thrown) || typeof read(thrown, "suggestion") === "string" || isRefusal(thrown);
  return { stack: failureStack(thrown), isMeant };
}

function isRefusal(thrown: unknown): boolean {
  return read(thrown, "code") !== "internal_error" && isTesseraError(thrown);
}

/** The same as one text, where nothing has to be masked. */
export function stackOf(thrown: unknown): string {
  return failureStack(thrown).join("\n");
}

/** The first place in a file of the author's; null: none is known. */
export function placeOf(thrown: unknown): SourcePlace | null {
  const { frames } = partsOf(read(thrown, "stack"));
  for (const frame of frames) {
    const { place, kind } = located(frame);
    if (place !== null && kind === "author") return place;
  }
  return null;
}

interface Told {
  readonly pieces: string[];
  readonly seen: Set<unknown>;
  causesLeft: number;
}

function describe(thrown: unknown, lead: string, told: Told): void {
  const stack = read(thrown, "stack");
  if (typeof stack !== "string") {
    const what = `what was thrown is no Error and has no stack: ${safeText(thrown)}`;
    told.pieces.push(storable(`${lead}${what}`, MESSAGE_CHARS_MAX));
    return;
  }
  told.seen.add(thrown);
  const { head, frames } = partsOf(stack);
  told.pieces.push(storable(`${lead}${headOf(thrown, head)}`, MESSAGE_CHARS_MAX), ...shownFrames(frames));
  for (const [inner, as] of reasonsOf(thrown)) {
    if (told.seen.has(inner) || told.causesLeft === 0) continue;
    told.causesLeft -= 1;
    describe(inner, `${as}: `, told);
  }
}

/** What is behind an error: the errors of an AggregateError, and the cause of any. */
function reasonsOf(thrown: unknown): (readonly [unknown, string])[] {
  const errors = read(thrown, "errors");
  const several: readonly unknown[] = Array.isArray(errors) ? errors : [];
  const cause = read(thrown, "cause");
  return [
    ...several.slice(0, ERRORS_MAX).map((error, n) => [error, `error ${n + 1} of ${several.length}`] as const),
    ...(cause === undefined || cause === null ? [] : [[cause, "caused by"] as const]),
  ];
}

/** V8 wrote name and message when the error was made; a class sets its name after that, and any code may change both. */
function headOf(thrown: unknown, head: string): string {
  const given = read(thrown, "name");
  const name = typeof given === "string" && given !== "" ? given : "Error";
  const message = read(thrown, "message");
  if (typeof message === "string" && !head.includes(message.trim())) return `${name}: ${message}`;
  return head.replace(/^Error(?=:|$)/, () => name);
}

/** Frames are the last lines: a message may have lines that look like some. */
function partsOf(stack: unknown): { readonly head: string; readonly frames: readonly string[] } {
  const lines = typeof stack === "string" ? stack.slice(0, STACK_CHARS_READ_MAX).trimEnd().split("\n") : [];
  let end = lines.length;
  while (end > 0 && FRAME.test(lines[end - 1] ?? "")) end -= 1;
  return { head: lines.slice(0, end).join("\n").trimEnd(), frames: lines.slice(end, end + FRAMES_MAX) };
}

/** F3 */
function shownFrames(frames: readonly string[]): string[] {
  const of: Record<FrameKind, string[]> = { author: [], library: [], own: [] };
  let before: FrameKind = "author";
  for (const frame of frames) {
    const { text, kind } = located(frame);
    before = kind ?? before; // a function of JavaScript itself belongs to what called it or was called last
    of[before].push(storable(`    at ${text}`, FRAME_CHARS_MAX));
  }
  const { author, library, own } = of;
  if (author.length + library.length === 0) return own;
  return [
    ...author,
    ...(author.length > 0 && library.length > 0 ? ["    in libraries:"] : []),
    ...library,
    ...(own.length === 0 ? [] : [`    … ${own.length} more of Tessera and Node.js`]),
  ];
}

type FrameKind = "author" | "library" | "own";

interface Located {
  readonly text: string;
  readonly place: SourcePlace | null;
  /** Null: it is in no file. */
  readonly kind: FrameKind | null;
}

const FRAME = /^\s+at (?:(?<name>.*) \((?<called>.*)\)|(?<async>async )?(?<bare>.*))$/;
const PLACE = /^(?<file>.+):(?<line>\d+):(?<column>\d+)$/;

function located(frame: string): Located {
  const { name, called, async: isAsync = "", bare = "" } = FRAME.exec(frame)?.groups ?? {};
  const found = PLACE.exec(called ?? bare)?.groups;
  const text = frame.trim().slice("at ".length);
  if (found === undefined) return { text, place: null, kind: null };
  const { file = "", line = "", column = "" } = found;
  if (file.startsWith("node:")) return { text, place: null, kind: "own" };
  const built = { file: pathOf(file), line: Number(line), column: Number(column) };
  if (isOwn(built.file)) return { text, place: null, kind: "own" };
  const place = sourcePlace(built); // F4
  const where = `${place.file}:${place.line}:${place.column}`;
  const kind = isInPackages(place.file) || isInPackages(built.file) ? "library" : "author";
  return { text: name === undefined ? `${isAsync}${where}` : `${name} (${where})`, place, kind };
}

function pathOf(file: string): string {
  if (!file.startsWith("file:")) return file;
  try {
    return fileURLToPath(file.replace(/\?.*$/, ""));
  } catch {
    return file; // a host, or what is no URL
  }
}

/** The folder of the parts of this installation: each has its code in `lib`, or in `src` in the repository. */
const PARTS = `${dirname(dirname(dirname(dirname(fileURLToPath(import.meta.url)))))}${sep}`;
/** jiti loads what an author wrote, and is in every stack of it. */
const OWN_PACKAGES = [...Object.values(PACKAGES), "jiti"].map(
  (name) => `${sep}node_modules${sep}${name.replaceAll("/", sep)}${sep}`,
);

function isOwn(file: string): boolean {
  if (OWN_PACKAGES.some((folder) => file.includes(folder))) return true;
  if (!file.startsWith(PARTS)) return false;
  const [, folder] = file.slice(PARTS.length).split(sep);
  return folder === "src" || folder === "lib" || folder === "bin";
}

function isInPackages(file: string): boolean {
  return file.includes(`${sep}node_modules${sep}`);
}
