// Regular expressions that are written outside of this program: in tool parameters, in rules of scripted models. Any client that
// may upload those can write one, so they never reach a backtracking engine (docs/design.md#one-schema-language).
//
//   P1. Matching is RE2's: linear in the text. What RE2 cannot do (look-around, back references) is refused, with what to
//       write instead.
//   P2. A loop over nothing but loops, such as `(a+)+`, is refused although RE2 could run it: the schema is also read by
//       models, clients and executors in other languages, whose engines would hang. A loop whose every round must pass
//       a plain piece, such as `(?:-[a-z0-9]+)*`, is accepted.
//   P3. The cost is known before anything is compiled: repeats multiply, and RE2 unrolls them.

import { errorOf, type TesseraError } from "@tessera/protocol";
import { RE2JS } from "re2js";

export const PATTERN_CHARS_MAX = 512;
/** Instructions of one compiled pattern, as estimated from its text; `^[a-z]{1,64}$` has about 70. */
const PATTERN_SIZE_MAX = 2_000;
const GROUP_DEPTH_MAX = 32;

export interface Pattern {
  /** Estimated instructions: matching costs at most this much for each character of the text. */
  readonly size: number;
  test(text: string): boolean;
  /** Names the pattern: ajv keeps compiled patterns by this text, and would run one in place of another. */
  toString(): string;
}

/** Compiles a pattern or refuses it with `schema_invalid`, whose message says why. */
export function compilePattern(source: string): Pattern {
  const size = patternSize(source); // P3
  let compiled: RE2JS;
  try {
    compiled = RE2JS.compile(RE2JS.translateRegExp(source)); // P1
  } catch (cause) {
    throw refusal(source, `RE2 cannot read it: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
  return { size, test: (text) => compiled.test(text), toString: () => `/${source}/` };
}

/** One alternative of a group while it is read. */
interface Branch {
  size: number;
  /** Holds a piece that repeats without end. */
  hasLoop: boolean;
  /** Holds a piece that every match passes, and that is no loop. */
  hasPlain: boolean;
}

interface Group {
  branch: Branch;
  /** Over the alternatives that are complete. */
  size: number;
  hasLoop: boolean;
  isPlain: boolean;
  isOnlyLoops: boolean;
  /** The piece that a quantifier would belong to. */
  last: Piece | null;
}

interface Piece {
  readonly size: number;
  readonly hasLoop: boolean;
  readonly isPlain: boolean;
  readonly isOnlyLoops: boolean;
}

const CHARACTER: Piece = { size: 1, hasLoop: false, isPlain: true, isOnlyLoops: false };
const ANCHOR: Piece = { size: 1, hasLoop: false, isPlain: false, isOnlyLoops: false };
const ONCE: Repeat = { min: 1, max: 1, end: 0 };

interface Repeat {
  readonly min: number;
  readonly max: number;
  /** Index after the quantifier. */
  readonly end: number;
}

/** Reads the shape of a pattern, by iteration, without deciding whether it is legal: RE2 does that afterwards. */
function patternSize(source: string): number {
  if (source.length > PATTERN_CHARS_MAX) throw refusal(source, `it is longer than ${PATTERN_CHARS_MAX} characters`);
  const groups: Group[] = [newGroup()];
  for (let at = 0; at < source.length; ) {
    const group = groups.at(-1) as Group;
    const repeat = group.last === null ? null : readRepeat(source, at);
    if (repeat !== null) {
      take(source, group, repeat);
      at = repeat.end;
      continue;
    }
    take(source, group, ONCE);
    switch (source[at]) {
      case "(":
        if (groups.length > GROUP_DEPTH_MAX) throw refusal(source, `its groups nest deeper than ${GROUP_DEPTH_MAX}`);
        groups.push(newGroup());
        at = groupBody(source, at);
        break;
      case ")": {
        closeBranch(group);
        if (groups.length === 1) throw refusal(source, "a parenthesis is not opened");
        groups.pop();
        (groups.at(-1) as Group).last = group;
        at++;
        break;
      }
      case "|":
        closeBranch(group);
        group.branch = newBranch();
        at++;
        break;
      case "[":
        group.last = CHARACTER;
        at = afterClass(source, at);
        break;
      case "\\":
        group.last = source[at + 1] === "b" || source[at + 1] === "B" ? ANCHOR : CHARACTER;
        at = afterEscape(source, at);
        break;
      default:
        group.last = source[at] === "^" || source[at] === "$" ? ANCHOR : CHARACTER;
        at++;
    }
  }
  if (groups.length > 1) throw refusal(source, "a parenthesis is not closed");
  const root = groups[0] as Group;
  take(source, root, ONCE);
  closeBranch(root);
  return root.size;
}

/** Adds the piece that was read last to its branch. */
function take(source: string, group: Group, repeat: Repeat): void {
  const piece = group.last;
  if (piece === null) return;
  group.last = null;
  const { branch } = group;
  const isLoop = repeat.max === Number.POSITIVE_INFINITY;
  if (isLoop && piece.isOnlyLoops) throw refusal(source, "it repeats a group that only repeats, as (a+)+ does"); // P2
  branch.size += piece.size * (isLoop ? Math.max(repeat.min, 1) : repeat.max);
  branch.hasLoop ||= isLoop || piece.hasLoop;
  branch.hasPlain ||= !isLoop && repeat.min > 0 && piece.isPlain;
  if (branch.size > PATTERN_SIZE_MAX) throw refusal(source, "its repeats unroll to too many instructions"); // P3
}

function newBranch(): Branch {
  return { size: 0, hasLoop: false, hasPlain: false };
}

function newGroup(): Group {
  return { branch: newBranch(), size: 1, hasLoop: false, isPlain: true, isOnlyLoops: false, last: null };
}

function closeBranch(group: Group): void {
  const { size, hasLoop, hasPlain } = group.branch;
  group.size += size;
  group.hasLoop ||= hasLoop;
  group.isPlain &&= hasPlain;
  group.isOnlyLoops ||= hasLoop && !hasPlain;
}

const COUNTS = /\{(\d{1,4})(?:(,)(\d{1,4})?)?\}/y;

function readRepeat(source: string, at: number): Repeat | null {
  const lazy = (end: number) => (source[end] === "?" ? end + 1 : end);
  switch (source[at]) {
    case "*":
      return { min: 0, max: Number.POSITIVE_INFINITY, end: lazy(at + 1) };
    case "+":
      return { min: 1, max: Number.POSITIVE_INFINITY, end: lazy(at + 1) };
    case "?":
      return { min: 0, max: 1, end: lazy(at + 1) };
    case "{": {
      COUNTS.lastIndex = at;
      const match = COUNTS.exec(source);
      if (match === null) return null;
      const [text, from, comma, to] = match;
      const max = to === undefined ? (comma === undefined ? Number(from) : Number.POSITIVE_INFINITY) : Number(to);
      return { min: Number(from), max, end: lazy(at + text.length) };
    }
    default:
      return null;
  }
}

/** P1: what a group starts with, what that is called, and what does the same. */
const LOOK_AROUND: readonly (readonly [start: string, name: string, instead: string])[] = [
  ["(?=", "lookahead", "write what follows into the pattern itself"],
  ["(?!", "negative lookahead", "list what is allowed there, as in [^x], or decide it where the value is used"],
  ["(?<=", "lookbehind", "write what goes before into the pattern itself"],
  ["(?<!", "negative lookbehind", "list what is allowed there, as in (?:^|[^x]), or decide it where the value is used"],
];

/** Index of a group's first piece: after `(`, `(?:`, `(?<name>` or `(?flags:`. */
function groupBody(source: string, at: number): number {
  if (source[at + 1] !== "?") return at + 1;
  const around = LOOK_AROUND.find(([start]) => source.startsWith(start, at));
  if (around !== undefined) {
    const [start, name, instead] = around;
    throw refusal(source, `${start}…) is a ${name}, which cannot be matched in linear time; ${instead}`);
  }
  let end = at + 2;
  while (end < source.length && !":>)=!".includes(source[end] as string)) end++;
  return source[end] === ")" ? end : end + 1;
}

function afterClass(source: string, at: number): number {
  const first = source[at + 1] === "^" ? at + 2 : at + 1;
  // JavaScript reads `[]` as nothing and `[^]` as anything, RE2 reads both as an open class that holds `]`.
  if (source[first] === "]") throw refusal(source, "an empty class means something else in every engine");
  for (let end = first; end < source.length; end = source[end] === "\\" ? end + 2 : end + 1) {
    if (source[end] === "]") return end + 1;
  }
  throw refusal(source, "a class is not closed");
}

const BACK_REFERENCE = /^\\[1-9k]/;

/** `\d` is two characters; `\p{Greek}`, `\u{1F600}` and `\x{41}` end at their brace. */
function afterEscape(source: string, at: number): number {
  const [back] = BACK_REFERENCE.exec(source.slice(at, at + 2)) ?? [];
  if (back !== undefined) {
    const instead = "write the group's own pattern again, or compare the two parts where the value is used";
    throw refusal(source, `${back} is a back reference, which cannot be matched in linear time; ${instead}`); // P1
  }
  if ("pPux".includes(source[at + 1] ?? "") && source[at + 2] === "{") {
    const end = source.indexOf("}", at);
    return end === -1 ? source.length : end + 1;
  }
  return at + 2;
}

function refusal(source: string, why: string, cause?: unknown): TesseraError {
  return errorOf("schema_invalid", `the pattern ${JSON.stringify(source.slice(0, 80))} cannot be used: ${why}`, {
    ...(cause === undefined ? {} : { cause }),
  });
}
