// docs/reference/cli.md: every command with its arguments, flags and help, from the program itself.

import type { Argument, Command, Option } from "commander";
import type { EXIT } from "../../packages/cli/src/exit-codes.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";

export const cliReference: Generator = {
  name: "CLI reference",
  files: async () => new Map([["docs/reference/cli.md", await cliPage()]]),
};

const EXIT_MEANINGS: Readonly<Record<keyof typeof EXIT, string>> = {
  ok: "It worked.",
  failure: "It failed, or what was checked does not hold.",
  usage: "The command was not understood.",
  configuration: "A file, a flag's value or a setting is wrong.",
  unreachable: "A server, a database or a broker could not be reached.",
  failed: "The tool or the turn ended without success.",
  waiting: "It has not ended yet; it goes on by itself.",
  unknown: "It may or may not have had its effect.",
};

async function cliPage(): Promise<string> {
  const { createProgram } = await import("../../packages/cli/src/program.ts");
  const { EXIT: codes } = await import("../../packages/cli/src/exit-codes.ts");
  const written: string[] = [];
  const out = (text: string) => void written.push(text);
  const program = createProgram(
    {
      env: {},
      out,
      err: out,
      input: async () => "",
      isWatched: false,
      isOutWatched: false,
      stopped: async () => undefined,
    },
    { writeErr: out, onExit: () => undefined },
  );
  const commands = leaves(program, []);
  const rows = commands.map(({ path, command }) => [
    `[${code(path)}](#${path.replaceAll(" ", "-")})`,
    sentence(command.description()),
  ]);
  const exits = Object.entries(codes).map(([name, value]) => [String(value), EXIT_MEANINGS[name as keyof typeof EXIT]]);
  return `${NOTICE}

# Command line

\`tessera <command> --help\` shows the same. With \`--json\` stdout holds JSON and nothing else; streams are one JSON value per line.

${table(["Command", ""], rows)}

## Exit codes

${table(["Code", "Meaning"], exits)}

${commands.map(({ path, command }) => commandSection(path, command, written)).join("\n")}`;
}

/** The commands that do something, with the words that lead to them. */
function leaves(command: Command, words: readonly string[]): { path: string; command: Command }[] {
  const inner = command.commands.filter((each) => each.name() !== "help");
  if (inner.length === 0) return [{ path: ["tessera", ...words].join(" "), command }];
  return inner.flatMap((each) => leaves(each, [...words, each.name()]));
}

function commandSection(path: string, command: Command, written: string[]): string {
  const args = command.registeredArguments.map((each) => [code(argumentName(each)), sentence(each.description)]);
  const visible = command.options.filter(({ hidden }) => !hidden);
  const flags = visible.map((each) => [code(each.flags), sentence(each.description), presetOf(each)]);
  const usage = [path, ...command.registeredArguments.map(argumentName), ...(flags.length > 0 ? ["[flags]"] : [])];
  return `## ${path}

${sentence(command.description())}

\`\`\`text
${usage.join(" ")}
\`\`\`
${args.length === 0 ? "" : `\n${table(["Argument", "Meaning"], args)}\n`}${flags.length === 0 ? "" : `\n${table(["Flag", "Meaning", "Default"], flags)}\n`}${moreHelp(command, written)}`;
}

/** What stands after the list of flags: notes and examples. */
function moreHelp(command: Command, written: string[]): string {
  written.length = 0;
  command.outputHelp();
  const more = written.join("").slice(command.helpInformation().length).replace(/^\n+/, "").trimEnd();
  return more === "" ? "" : `\n\`\`\`text\n${more}\n\`\`\`\n`;
}

function argumentName(argument: Argument): string {
  const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
  return argument.required ? `<${name}>` : `[${name}]`;
}

function presetOf({ mandatory, defaultValue, negate }: Option): string {
  if (mandatory && defaultValue === undefined) return "required";
  return defaultValue === undefined || negate ? "" : code(String(defaultValue));
}

function sentence(text: string): string {
  return text === "" ? "" : `${text.charAt(0).toUpperCase()}${text.slice(1)}${/[.?!…]$/.test(text) ? "" : "."}`;
}
