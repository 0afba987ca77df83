// docs/reference/cli.md: every command with its arguments, flags and help, from the program itself.

import type { Argument, Command, Option } from "commander";
import type { EXIT } from "../../packages/cli/src/exit-codes.ts";
import { JSON_SHAPES, JSON_TYPES, type JsonSchema } from "../../packages/cli/src/output/json-shapes.ts";
import type { Text } from "../../packages/cli/src/output/printing-gate.ts";
import { readApiDocument } from "./api-document.ts";
import { code, type Generator, NOTICE, table } from "./generator.ts";
import { type TypeWorld, typeBlock, typeOf } from "./schema-type.ts";

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
  hung: "The event loop of the process stood still, and its watch ended it.",
};

const API_TYPES: readonly string[] = Object.keys((await readApiDocument()).components?.schemas ?? {});

async function cliPage(): Promise<string> {
  const { createProgram } = await import("../../packages/cli/src/program.ts");
  const { printed } = await import("../../packages/cli/src/output/printing-gate.ts");
  const { EXIT: codes } = await import("../../packages/cli/src/exit-codes.ts");
  const written: string[] = [];
  const out = (text: Text) => void written.push(printed(text));
  const program = await createProgram(
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
  const known = { known: new Set([...Object.keys(JSON_TYPES), ...API_TYPES]) };
  const exits = Object.entries(codes).map(([name, value]) => [String(value), EXIT_MEANINGS[name as keyof typeof EXIT]]);
  return `${NOTICE}

# Command line

\`tessera <command> --help\` shows the same, without the shapes of JSON.

${table(["Command", ""], rows)}

## Exit codes

${table(["Code", "Meaning"], exits)}

## JSON

With \`--json\` stdout holds JSON and nothing else, one value per line; stderr is empty, but for the log of \`start\` and \`dev\`. The shape
of each command is in its section.

- The last line is the **answer**: its \`ok\` is true where the exit code is 0. Before it, commands that watch print **events**: lines
  with \`event\`. \`start\` and \`dev\` print events only.
- A command that **failed** (exit codes 1 to 4) prints a [Failure](#failure) in the place of its answer. Exit code 1, 3 or 4 with
  another answer says that what was checked does not hold: \`validate\`, \`verify\` and \`doctor\` then answer in their own shape. A tool or
  a turn that ended without success (5, 7), or has not ended (6), is an answer, too, with its \`status\`. A process that is ended from
  outside, or by its watch (8), prints no answer.
- **Stable**: the exit codes, the names, types and meanings of fields, and which fields are always there. New fields, events and
  values of a \`code\` may come: pass over what you do not know. Sentences (\`message\`, \`todo\`, \`why\`, \`says\`, \`reason\`, \`found\`, \`fix\`,
  \`next\`, \`health\`) are for people, and change.
- What is the same as an answer of the API is named as there: see its [types](http.md#types).

${Object.entries(JSON_TYPES)
  .map(([name, schema]) => `### ${name}\n\n${typeBlock(typeOf(schema, known, name))}\n`)
  .join("\n")}
${commands.map(({ path, command }) => commandSection(path, command, { written, known })).join("\n")}`;
}

/** The commands that do something, with the words that lead to them. */
function leaves(command: Command, words: readonly string[]): { path: string; command: Command }[] {
  const inner = command.commands.filter((each) => each.name() !== "help");
  if (inner.length === 0) return [{ path: ["tessera", ...words].join(" "), command }];
  return inner.flatMap((each) => leaves(each, [...words, each.name()]));
}

/** What the sections of a page are made with. */
interface Page {
  /** What the program printed last. */
  readonly written: string[];
  readonly known: TypeWorld;
}

function commandSection(path: string, command: Command, page: Page): string {
  const args = command.registeredArguments.map((each) => [code(argumentName(each)), sentence(each.description)]);
  const visible = command.options.filter(({ hidden }) => !hidden);
  const flags = visible.map((each) => [code(each.flags), sentence(each.description), presetOf(each)]);
  const usage = [path, ...command.registeredArguments.map(argumentName), ...(flags.length > 0 ? ["[flags]"] : [])];
  return `## ${path}

${sentence(command.description())}

\`\`\`text
${usage.join(" ")}
\`\`\`
${args.length === 0 ? "" : `\n${table(["Argument", "Meaning"], args)}\n`}${flags.length === 0 ? "" : `\n${table(["Flag", "Meaning", "Default"], flags)}\n`}${moreHelp(command, page)}${jsonSection(path, page)}`;
}

/** What it prints with --json. */
function jsonSection(path: string, { known }: Page): string {
  const { events, answer } = JSON_SHAPES[path.replace("tessera ", "")] ?? {};
  const part = (what: string, schema: JsonSchema | undefined) =>
    schema === undefined ? "" : `\n${what}:\n\n${typeBlock(typeOf(schema, known, path))}\n`;
  const text = part("JSON, events", events) + part(events === undefined ? "JSON" : "JSON, answer", answer);
  const names = [...new Set(JSON.stringify([events, answer]).match(/(?<=#\/components\/schemas\/)\w+/g) ?? [])];
  const links = names.map((name) => `[${name}](${API_TYPES.includes(name) ? "http.md" : ""}#${name.toLowerCase()})`);
  return text === "" || links.length === 0 ? text : `${text}\nTypes: ${links.join(", ")}.\n`;
}

/** What stands after the list of flags: notes and examples. */
function moreHelp(command: Command, { written }: Page): string {
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
