// Subjects: `cg.{version}.{project_id}.{channel_id}.{category}.{component}.{target}.{suffix}`.
//
//   S1. Every token matches `[A-Za-z0-9_-]+`, so a subject can be split, joined and matched without escaping. Only the
//       suffix may hold dots.
//   S2. Parsing answers null for what is not ours and never throws; `classifySubject` says why.
//   S3. What `formatSubject` builds, `parseSubject` reads back equal.

import { ProtocolViolation, quoted } from "../errors/errors.ts";
import { SUBJECT_CHARS_MAX, SUBJECT_TOKENS_MAX } from "../limits.ts";

/** The version that is emitted. */
export const SUBJECT_VERSION = "v1r4";
/** The versions that are read. v1r3 commands pass an adapter (v1r3.ts) that lifts identity into headers. */
export const SUBJECT_VERSIONS = ["v1r3", "v1r4"] as const;
export type SubjectVersion = (typeof SUBJECT_VERSIONS)[number];

/** Commands do work once, events are heard by everybody, streams may be lost and never change state. */
export const SUBJECT_CATEGORIES = ["cmd", "evt", "str"] as const;
export type SubjectCategory = (typeof SUBJECT_CATEGORIES)[number];

export const SUBJECT_COMPONENTS = ["agent", "sys", "user", "tool"] as const;
export type SubjectComponent = (typeof SUBJECT_COMPONENTS)[number];

export interface SubjectParts {
  readonly version: SubjectVersion;
  readonly project_id: string;
  readonly channel_id: string;
  readonly category: SubjectCategory;
  readonly component: SubjectComponent;
  /** A worker group, a tool provider or an agent id: one token. */
  readonly target: string;
  readonly suffix: string;
}

export type SubjectVerdict =
  | { readonly kind: "ok"; readonly parts: SubjectParts }
  | { readonly kind: "invalid_subject" }
  | { readonly kind: "unsupported_version"; readonly version: string };

type EightTokens = [string, string, string, string, string, string, string, string];

const TOKEN = /^[A-Za-z0-9_-]{1,128}$/;
const VERSION = /^v[0-9]{1,6}(?:r[0-9]{1,6})?$/;

/** One legal token: no dot, wildcard or white space. */
export function isToken(value: unknown): value is string {
  return typeof value === "string" && TOKEN.test(value);
}

/** Turns any text into a token-safe label. Not reversible: two texts may share a label. */
export function safeLabel(text: string): string {
  return text.replace(/[^A-Za-z0-9_-]/g, "_");
}

/** The parts of a subject; null where it does not follow the grammar or is of a version that is not spoken. */
export function parseSubject(subject: string): SubjectParts | null {
  const verdict = classifySubject(subject);
  return verdict.kind === "ok" ? verdict.parts : null;
}

/** Reads a subject and, where it cannot, distinguishes a broken one from one of another protocol version. */
export function classifySubject(subject: string): SubjectVerdict {
  if (subject.length > SUBJECT_CHARS_MAX) return { kind: "invalid_subject" };
  const tokens = subject.split(".");
  if (tokens.length < 8 || tokens.length > SUBJECT_TOKENS_MAX || !tokens.every(isToken)) {
    return { kind: "invalid_subject" };
  }
  const [root, version, project_id, channel_id, category, component, target] = tokens as EightTokens;
  const suffix = tokens.slice(7).join(".");
  if (root !== "cg" || !VERSION.test(version)) return { kind: "invalid_subject" };
  if (!isOneOf(SUBJECT_VERSIONS, version)) return { kind: "unsupported_version", version };
  if (!isOneOf(SUBJECT_CATEGORIES, category) || !isOneOf(SUBJECT_COMPONENTS, component)) {
    return { kind: "invalid_subject" };
  }
  return {
    kind: "ok",
    parts: { version, project_id, channel_id, category, component, target, suffix },
  };
}

/** Builds a subject in the current version unless one is given. */
export function formatSubject(parts: Omit<SubjectParts, "version"> & { readonly version?: SubjectVersion }): string {
  const { version = SUBJECT_VERSION, project_id, channel_id, category, component, target, suffix } = parts;
  const subject = ["cg", version, project_id, channel_id, category, component, target, suffix].join(".");
  const read = parseSubject(subject);
  // A dot inside project, channel or target would shift every token after it, so the parts are compared, not only parsed.
  const isSame = read?.project_id === project_id && read.channel_id === channel_id && read.target === target;
  if (!isSame) {
    throw new ProtocolViolation(`cannot build a subject: ${quoted(subject)} is not legal`, {
      code: "invalid_subject",
    });
  }
  return subject;
}

/** NATS matching: `*` is one token, a last `>` is one or more. */
export function matchesPattern(subject: string, pattern: string): boolean {
  const tokens = subject.split(".");
  const wanted = pattern.split(".");
  for (const [index, token] of wanted.entries()) {
    if (token === ">") return index === wanted.length - 1 && tokens.length > index;
    if (index >= tokens.length || (token !== "*" && token !== tokens[index])) return false;
  }
  return tokens.length === wanted.length;
}

/** What a subject is for. Null: legal, but of no family that this version defines. */
export const SUBJECT_FAMILIES = {
  agent_wakeup: "cg.*.*.*.cmd.agent.*.wakeup",
  tool_command: "cg.*.*.*.cmd.tool.*.*",
  pmo_command: "cg.*.*.*.cmd.sys.pmo.internal.*",
  ui_action: "cg.*.*.*.cmd.sys.ui.action",
  agent_step: "cg.*.*.*.evt.agent.*.step",
  agent_task: "cg.*.*.*.evt.agent.*.task",
  agent_state: "cg.*.*.*.evt.agent.*.state",
  agent_inbox_progress: "cg.*.*.*.evt.agent.*.inbox_progress",
  ui_action_ack: "cg.*.*.*.evt.sys.ui.action_ack",
  ui_marker: "cg.*.*.*.evt.sys.ui.marker",
  agent_chunk: "cg.*.*.*.str.agent.*.chunk",
} as const;
export type SubjectFamily = keyof typeof SUBJECT_FAMILIES;

export function subjectFamily(subject: string): SubjectFamily | null {
  for (const [family, pattern] of Object.entries(SUBJECT_FAMILIES)) {
    if (matchesPattern(subject, pattern)) return family as SubjectFamily;
  }
  return null;
}

function isOneOf<T extends string>(list: readonly T[], value: string): value is T {
  return (list as readonly string[]).includes(value);
}
