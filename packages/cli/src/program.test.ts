import { type Command, Help } from "commander";
import { expect, it } from "vitest";
import { testTerminal } from "../test/test-terminal.ts";
import { EXIT } from "./exit-codes.ts";
import { createProgram } from "./program.ts";

const COLUMNS = 80;
const { printed, terminal } = testTerminal();
const programFor = (args?: readonly string[]) =>
  createProgram(terminal, { writeErr: terminal.err, onExit: () => undefined }, args);
const program = await programFor();

function helpOf(command: Command): string {
  printed.out = "";
  command.outputHelp();
  return printed.out;
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

it("the list of commands says of each what its file says that it takes", () => {
  const shown = program.createHelp();
  expect(program.commands.map((command) => shown.subcommandTerm(command))).toEqual(
    program.commands.map((command) => new Help().subcommandTerm(command)),
  );
});

it("the list of commands is the same where no command's file was loaded", async () => {
  expect(helpOf(await programFor(["--help"]))).toBe(helpOf(program));
});

it("a command that is named has its flags, wherever among the arguments, and no other command has", async () => {
  const named = await programFor(["--json", "keys", "ls"]);
  const flags = (from: Command) => all(from).flatMap(({ options }) => options.map(({ long }) => long));
  for (const { name, command } of named.commands.map((command) => ({ name: command.name(), command }))) {
    const whole = program.commands.find((each) => each.name() === name);
    expect(flags(command)).toEqual(name === "keys" && whole !== undefined ? flags(whole) : []);
  }
});
