// Reads a guide: its sections, and in each the fenced blocks that mean something to the runner (run-guide.ts says what).
//
//   G1. A block is known by the words after its fence: `sh`, `text`, or anything with `title="path"`. Others are prose.
//   G2. A word that is not known is an error: a block with a typo must not be passed over in silence.

export interface GuideSection {
  readonly title: string;
  readonly blocks: readonly GuideBlock[];
}

export type GuideBlock =
  | { readonly kind: "file"; readonly line: number; readonly path: string; readonly text: string }
  | {
      readonly kind: "run";
      readonly line: number;
      readonly text: string;
      /** What the commands must end with: 0, or what the guide says they do. */
      readonly exits: number;
      /** What they must print; null where the guide does not show it. */
      readonly prints: string | null;
    };

const FENCE = /^```(.*)$/;
const FILE = /^[a-z]+ title="([^"]+)"$/;
const RUN = /^sh(?: exits=(\d+))?$/;
/** Shown and not run: what would wait for a person, or needs a place of the reader's own. */
const NOT_RUN = /^sh not-run$/;
const PROSE = new Set(["", "json", "sql", "yaml", "ts", "js", "python"]);

export function readGuide(markdown: string): GuideSection[] {
  const sections: { title: string; blocks: GuideBlock[] }[] = [];
  const lines = markdown.split("\n");
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (/^#{1,2} /.test(line)) sections.push({ title: line.replace(/^#+ /, ""), blocks: [] });
    const info = FENCE.exec(line)?.[1];
    if (info === undefined) continue;
    const end = lines.indexOf("```", at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: the block has no end`);
    addBlock(sections.at(-1)?.blocks ?? [], info, lines.slice(at + 1, end).join("\n"), at + 1);
    at = end;
  }
  return sections.filter(({ blocks }) => blocks.length > 0);
}

function addBlock(blocks: GuideBlock[], info: string, text: string, line: number): void {
  const path = FILE.exec(info)?.[1];
  const run = RUN.exec(info);
  if (path !== undefined) blocks.push({ kind: "file", line, path, text: `${text}\n` });
  else if (run !== null) blocks.push({ kind: "run", line, text, exits: Number(run[1] ?? 0), prints: null });
  else if (info === "text") {
    const before = blocks.pop();
    if (before?.kind !== "run" || before.prints !== null) throw new Error(`line ${line}: output of no command`);
    blocks.push({ ...before, prints: text });
  } else if (!PROSE.has(info) && !NOT_RUN.test(info)) {
    throw new Error(`line ${line}: unknown kind of block ${JSON.stringify(info)}`); // G2
  }
}

/** Whether output is what the guide shows. `…` stands for any part of a line, and alone on a line for any lines. */
export function isAsShown(output: string, shown: string): boolean {
  const lines = shown.split("\n").map((line) => {
    if (line.trim() === "…") return "(?:[^\\n]*\\n)*?";
    return `${line.split("…").map(escaped).join("[^\\n]*")}\\n`;
  });
  return new RegExp(`^${lines.join("")}$`, "u").test(`${output.trimEnd()}\n`);
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&");
}
