// What validating a bundle finds: something about a place in a file.
//
//   F1. A finding has a place, a code, and a message without the place. What was expected and what was found are fields of
//       their own where the message says them.
//   F2. Mistakes carry the code of the error that loading the bundle would end with. Warnings and notes stop nothing, so
//       they have names of their own.
//   F3. What was written in code has no line in a message; the line of the name it is about is looked up in the file.
//   F4. A mistake in the code of a module is told where it is, before the line of the YAML that names the module.

import type { Mistake, Place } from "@tessera/tool/resources";

/** Whether a finding keeps a bundle from running. */
export type Severity = "error" | "warning" | "info";

/** Something that is wrong with a bundle, with its place. */
export interface Finding extends Place {
  readonly severity: Severity;
  readonly code: string;
  /** Relative to the bundle. */
  readonly file: string;
  readonly pointer: string;
  readonly message: string;
  readonly expected: string | null;
  readonly found: string | null;
}

/** Names of what is no mistake (F2). */
const NOTE_CODES = {
  unknown_key: "a key that nothing reads",
  env_missing: "a variable that the bundle names is not set",
  named_like_builtin: "a tool of the bundle that takes the place of a built-in one",
  no_entry: "a Tool without code and without a placement: another process has to serve it",
  served_elsewhere: "a Tool whose code is not in the bundle",
  no_resources: "nothing in the bundle is a resource",
  no_swarm: "agents without a Swarm",
  unread_file: "a file with resources that is not read because of its name",
  unknown_tool: "a scripted model calls a tool that its agents do not have",
  config_imported: "the config file was imported, which runs its code",
  other: "something else that an author should know",
} as const;
type NoteCode = keyof typeof NOTE_CODES;

/** Of a file without a line. */
export const START: Place = { line: 1, column: 1 };

type Said = Place & { readonly file: string; readonly pointer?: string; readonly message: string };

export function findingOf(severity: Severity, code: string, said: Said): Finding {
  const { file, line, column, pointer = "" } = said;
  const message = withoutPlace(said);
  const place = { severity, code, file, line, column, pointer, message };
  return {
    ...place,
    expected: / must (?:be|have) (.+?)(?:[,;] found .*)?$/s.exec(message)?.[1] ?? null,
    found: foundIn(message),
  };
}

export function mistakeFinding(mistake: Mistake): Finding {
  return findingOf("error", mistake.code, mistake);
}

/** A warning of a reader, which has a message and no code. */
export function warningFinding(warning: Said): Finding {
  const { message } = warning;
  if (/ does nothing here$/.test(message)) return findingOf("warning", "unknown_key", warning);
  if (/ environment variable \S+ (?:which )?is not set$/.test(message))
    return findingOf("warning", "env_missing", warning);
  return findingOf("warning", "other" satisfies NoteCode, warning);
}

/** F3: of a finding at the start of a config file. */
export function placedInCode(finding: Finding, text: string): Finding {
  const subject = /^(?:Model|Agent|Swarm)\/([a-z0-9-]+)/.exec(finding.message)?.[1];
  const tool = /^the tool (\S+) /.exec(finding.message)?.[1];
  const name = subject ?? tool;
  const at = name === undefined ? text.search(/^(?:export default|module\.exports)\b/m) : nameAt(text, name);
  if (at < 0) return finding;
  const before = text.slice(0, at).split("\n");
  return { ...finding, line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

/** F4: of a module that is no JavaScript: its own line, and whose code it is. */
export function placedInModule(finding: Finding): Finding {
  const said = /^(?:\S+: )?the module \S+ cannot be loaded: (.+) \((\S+):(\d+):(\d+)\)$/s.exec(finding.message);
  if (said === null) return finding;
  const [, why = "", file = "", line, column] = said;
  const whose = file === finding.file ? "" : `; it is named at ${finding.file}:${finding.line}:${finding.column}`;
  const place = { file, line: Number(line), column: Number(column), pointer: "" };
  return { ...finding, ...place, message: `this module cannot be loaded: ${why}${whose}` };
}

export function compareFindings(a: Finding, b: Finding): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1;
  return a.line - b.line || a.column - b.column;
}

function nameAt(text: string, name: string): number {
  const found = ['"', "'", "`"].map((quote) => text.indexOf(quote + name + quote)).filter((at) => at >= 0);
  return found.length === 0 ? -1 : Math.min(...found);
}

function foundIn(message: string): string | null {
  return /[,;] found (.+)$/s.exec(message)?.[1] ?? null;
}

function withoutPlace({ file, line, column, message }: Said): string {
  const prefix = `${file}:${line}:${column}: `;
  return message.startsWith(prefix) ? message.slice(prefix.length) : message;
}
