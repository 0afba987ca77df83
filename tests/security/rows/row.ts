// What an entry of the index of bad input is, and the files it points into.

export const FILES = {
  commands: "tests/tools/commands.test.ts",
  cards: "tests/tools/rows-t-c-r.test.ts",
  calls: "tests/tools/rows-t.test.ts",
  command: "packages/protocol/src/messages/tool-command.test.ts",
  edge: "packages/server/src/http/http-edge.test.ts",
  sockets: "packages/server/src/http/sockets.test.ts",
  registry: "packages/server/src/tools/registry.test.ts",
  turns: "packages/server/src/turns/turns.test.ts",
  put: "packages/server/src/tools/put-tool.test.ts",
  events: "packages/server/src/events/event-routes.test.ts",
  reports: "packages/server/src/executors/reports.test.ts",
  executors: "packages/server/src/executors/executor-edge.test.ts",
  isolation: "packages/server/src/access/isolation.test.ts",
  upload: "packages/tool/src/resources/tool-upload.test.ts",
  kernel: "packages/kernel/test/report-codes.test.ts",
  forgery: "tests/security/report-forgery.test.ts",
  files: "packages/executor/src/builtins/file-system.test.ts",
  shell: "packages/executor/src/builtins/bash.test.ts",
  queries: "packages/executor/src/builtins/pure-tools.test.ts",
  dials: "packages/executor/src/net/rebinding.test.ts",
} as const;
export type FileName = keyof typeof FILES;

/** Titles of tests that do not run everywhere, and where they do. */
export const CONDITIONAL: readonly { readonly file: FileName; readonly title: string; readonly runs: string }[] = [
  { file: "shell", title: "cannot fork without end", runs: "where bubblewrap works" },
];

/** Null: everywhere. */
export function conditionOf(file: FileName, title: string): string | null {
  return CONDITIONAL.find((each) => each.file === file && each.title === title)?.runs ?? null;
}

/** A file, the title of a test or of a row of its table, and words that stand in that test: the input, the answer. */
type Shown = readonly [file: FileName, title: string, ...says: readonly [string, ...string[]]];

export interface Row {
  readonly id: string;
  readonly input: string;
  readonly answer: string;
  /** One for each single input of the row, or one that sends several and says each. */
  readonly shown: readonly [Shown, ...Shown[]];
}

export const row = (id: string, input: string, answer: string, ...shown: Row["shown"]): Row => ({
  ...{ id, input, answer, shown },
});
