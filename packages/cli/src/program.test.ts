import type { Command } from "commander";
import { expect, it } from "vitest";
import { EXIT } from "./exit-codes.ts";
import { printed, type Text } from "./output/printing-gate.ts";
import { createProgram } from "./program.ts";

const COLUMNS = 80;
let written = "";
const out = (text: Text) => {
  written += printed(text);
};
const program = createProgram(
  { env: {}, out, err: out, input: async () => "", isWatched: false, isOutWatched: false, stopped: async () => {} },
  { writeErr: out, onExit: () => undefined },
);

function helpOf(command: Command): string {
  written = "";
  command.outputHelp();
  return written;
}

function all(command: Command): Command[] {
  return [command, ...command.commands.flatMap(all)];
}

it.each(all(program).map((command) => ({ name: command.name(), command })))(
  "the help of $name fits a terminal of 80 columns, but for what is to be pasted",
  ({ command }) => {
    const lines = helpOf(command).split("\n");
    expect(lines.length).toBeGreaterThan(3);
    expect(lines.filter((line) => line.length > COLUMNS && !line.startsWith("  $ "))).toEqual([]);
  },
);

it("the help names every exit code", () => {
  const [, codes = ""] = helpOf(program).split("Exit codes:");
  expect((codes.match(/(?<=^| )\d(?= )/gm) ?? []).map(Number)).toEqual(Object.values(EXIT));
});
