// Subjects and patterns, as far as they decide how a message travels. The grammar belongs to the protocol.
//
//   S1. The category is a literal in every pattern: it decides between a durable and a broadcast.
//   S2. The version is a literal in every pattern: it names the stream.
//   S3. Nothing outside the grammar gets past this file, so no adapter can be made to break its line protocol.

import { BusError } from "@tessera/kernel/ports";
import {
  isToken,
  parseSubject,
  SUBJECT_CATEGORIES,
  SUBJECT_CHARS_MAX,
  SUBJECT_COMPONENTS,
  SUBJECT_VERSIONS,
  type SubjectCategory,
  type SubjectComponent,
  type SubjectParts,
  type SubjectVersion,
} from "@tessera/protocol";

export interface PatternParts {
  readonly version: SubjectVersion;
  readonly category: SubjectCategory;
  /** Null for a wildcard, or behind `>`. */
  readonly component: SubjectComponent | null;
  readonly target: string | null;
}

/** Throws `refused` for what is no subject (S3). */
export function readSubject(subject: string): SubjectParts {
  const parts = parseSubject(subject);
  if (parts === null) {
    throw new BusError("refused", `${JSON.stringify(subject.slice(0, SUBJECT_CHARS_MAX))} is not a subject of ours`);
  }
  return parts;
}

/** Throws `refused` for a pattern that no bus could serve. */
export function readPattern(pattern: string): PatternParts {
  const tokens = pattern.split(".");
  const [root, version = "", , , category = "", component, target] = tokens;
  const isLegal = tokens.every(
    (token, at) => token === "*" || isToken(token) || (token === ">" && at === tokens.length - 1),
  );
  if (!isLegal || root !== "cg" || pattern.length > SUBJECT_CHARS_MAX) {
    throw new BusError("refused", `${JSON.stringify(pattern.slice(0, SUBJECT_CHARS_MAX))} is not a pattern of ours`);
  }
  if (!isOneOf(SUBJECT_VERSIONS, version)) {
    throw new BusError("refused", `the pattern ${pattern} needs a version of ${SUBJECT_VERSIONS} (S2)`);
  }
  if (!isOneOf(SUBJECT_CATEGORIES, category)) {
    throw new BusError("refused", `the pattern ${pattern} needs a category of ${SUBJECT_CATEGORIES} (S1)`);
  }
  const literalComponent = literal(component);
  if (literalComponent !== null && !isOneOf(SUBJECT_COMPONENTS, literalComponent)) {
    throw new BusError("refused", `the pattern ${pattern} names an unknown component`);
  }
  return { version, category, component: literalComponent, target: literal(target) };
}

function literal(token: string | undefined): string | null {
  return token === undefined || token === "*" || token === ">" ? null : token;
}

function isOneOf<T extends string>(list: readonly T[], value: string): value is T {
  return (list as readonly string[]).includes(value);
}
