// tessera init: a small project that runs at once, from a template; or the same in a project that is there.
//
//   I1. Nothing is overwritten without --force, and package.json and .gitignore never: they get what they lack. A README and a
//       tsconfig.json that are there stay; any other file in the way is refused, and so is a directory that is no project.
//   I2. Everything is checked before the first file is written.
//   I3. The next commands work where the reader stands, and begin with what is still to be done: cd, npm install.

import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { visibleLine } from "@tessera/protocol";
import { type Command, Option } from "commander";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import {
  completedIgnore,
  completedPackage,
  isModulePackage,
  newPackage,
  type PackageFile,
} from "../init/init-project.ts";
import { TEMPLATES, type TemplateFile, type TemplateName, templateFiles } from "../init/template-files.ts";
import { errorWithTodo } from "../output/failure.ts";
import { quoted } from "../output/paste-command.ts";
import { sentence, type Terminal, type Text } from "../output/printing-gate.ts";
import { shownPath } from "../output/shown-path.ts";
import type { ProgramParts } from "../program.ts";

interface InitFlags {
  readonly template: TemplateName;
  readonly force?: boolean;
  readonly json?: boolean;
}

const PACKAGE = "package.json";
const IGNORE = ".gitignore";
/** What a person may have, and no template needs. */
const KEPT: ReadonlySet<string> = new Set(["README.md", "tsconfig.json"]);
/** What may lie in a directory in which nothing was written yet. */
const OF_A_NEW_PROJECT = /^(?:\.|readme\b|licen[cs]e\b|package(?:-lock)?\.json$|node_modules$|tsconfig\.json$)/i;

/** What is to be done in the directory, decided before anything is (I2). */
interface Plan {
  readonly writes: readonly TemplateFile[];
  /** Files that were there and get what they lack. */
  readonly completed: readonly string[];
  /** Files that were there and stay as they are. */
  readonly kept: readonly string[];
  readonly package: Omit<PackageFile, "text">;
}

const INIT_HELP = `
  minimal      one agent with one tool
  multi-agent  a planner that gives its work to two others at once
  service      an agent whose tool runs in a program of your own, over HTTP

Each is a project: the bundle, its tools with a test, package.json and
tsconfig.json. It runs at once: the model is a script, so no key is needed.
In a directory that has a package.json nothing that is there is overwritten;
what is missing is added.

Examples:
  $ tessera init ./hello
  $ npm init -y && npm install @tessera/tessera && npx tessera init
  $ tessera init ./team --template multi-agent`;

export function defineInit(command: Command, { terminal, onExit }: ProgramParts): void {
  command
    .argument("[dir]", "where to write it (default: the current directory)")
    .addOption(new Option("--template <name>", "which one").choices(Object.keys(TEMPLATES)).default("minimal"))
    .option(
      "--force",
      "write into a directory of other files, and over those of the same name (not package.json and .gitignore)",
    )
    .option("--json", "print only JSON")
    .addHelpText("after", INIT_HELP)
    .action(async (directory: string | undefined, flags: InitFlags) => onExit(await init(directory, flags, terminal)));
}

async function init(given: string | undefined, flags: InitFlags, terminal: Terminal): Promise<ExitCode> {
  const directory = resolve(given ?? ".");
  const shown = shownPath(directory);
  try {
    const plan = await planOf(directory, shown, flags);
    for (const { path, text } of plan.writes) {
      const file = join(directory, path);
      await mkdir(dirname(file), { recursive: true });
      const mayBeThere = flags.force === true || plan.completed.includes(path);
      await writeFile(file, text, { flag: mayBeThere ? "w" : "wx" }); // I1
    }
    if (flags.json === true) {
      const files = plan.writes.map(({ path }) => path);
      const { completed, kept } = plan;
      terminal.out(`${JSON.stringify({ ok: true, template: flags.template, directory, files, completed, kept })}\n`);
    } else terminal.out(doneText(shown, flags.template, plan));
    return EXIT.ok;
  } catch (error) {
    throw isFileError(error) ? unwritable(shown, error) : error;
  }
}

async function planOf(directory: string, shown: string, flags: InitFlags): Promise<Plan> {
  const names = (await readIfThere(() => readdir(directory))) ?? [];
  const isForced = flags.force === true;
  const isNew = names.every((name) => OF_A_NEW_PROJECT.test(name));
  if (!isNew && !names.includes(PACKAGE) && !isForced) throw noProject(shown, names); // I1
  const textOf = (path: string) => readIfThere(() => readFile(join(directory, path), "utf8"));
  const manifest = await textOf(PACKAGE);
  const own = manifest === undefined ? undefined : completedPackage(manifest, isNew);
  if (own === null) throw notJson(shown);
  const isModule = own === undefined || isModulePackage(own.text);
  const wanted = await templateFiles(flags.template, directory, { isModule });
  const there = new Map<string, string>();
  for (const { path } of wanted) {
    const text = await textOf(path);
    if (text !== undefined) there.set(path, text);
  }
  const inTheWay = wanted.filter(({ path }) => there.has(path) && path !== IGNORE && !KEPT.has(path));
  if (inTheWay.length > 0 && !isForced) throw taken(shown, inTheWay); // I1
  const kept = isForced ? [] : wanted.filter(({ path }) => there.has(path) && KEPT.has(path)).map(({ path }) => path);
  const template = wanted
    .filter(({ path }) => !kept.includes(path))
    .map(({ path, text }) =>
      path === IGNORE ? { path, text: completedIgnore(there.get(path) ?? "", text) } : { path, text },
    );
  const { text, ...facts } = own ?? {
    text: newPackage(basename(directory)),
    keptScripts: [],
    isIncomplete: true,
    isNowModule: false,
  };
  const completed = [...(there.has(IGNORE) ? [IGNORE] : []), ...(own === undefined ? [] : [PACKAGE])];
  const writes = [...template, { path: PACKAGE, text }].sort((one, other) => (one.path < other.path ? -1 : 1));
  return { writes, completed, kept, package: facts };
}

async function readIfThere<T>(read: () => Promise<T>): Promise<T | undefined> {
  return await read().catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
}

function doneText(shown: string, template: TemplateName, plan: Plan): Text {
  const { about } = TEMPLATES[template];
  const lines = plan.writes.map(({ path }) => {
    const note = plan.completed.includes(path) ? "   (was there; what was missing is added)" : "";
    return `  ${visibleLine(join(shown, path))}${note}\n`;
  });
  const kept = plan.kept.map((path) => `kept ${visibleLine(join(shown, path))} as it is\n`);
  const type = plan.package.isNowModule ? [`${PACKAGE} has now "type": "module": its files are ES modules\n`] : [];
  const scripts = plan.package.keptScripts.map((name) => `kept the script ${name} of ${PACKAGE} as it is\n`);
  const next = nextCommands(shown, template, plan).map((command) => `  ${visibleLine(command)}\n`);
  const rest = [...lines, ...type, ...kept, ...scripts, "\nNext:\n", ...next].join("");
  return [sentence(`wrote ${template}, ${about}:`), rest];
}

/** I3 */
function nextCommands(shown: string, template: TemplateName, plan: Plan): string[] {
  const { package: own, writes } = plan;
  const input = quoted(TEMPLATES[template].input);
  const first = [...(shown === "." ? [] : [`cd ${quoted(shown)}`]), ...(own.isIncomplete ? ["npm install"] : [])];
  if (template !== "service") return [...first, `npx tessera run . --input ${input}`, "npm test", "npm run dev"];
  const executor = writes.find(({ path }) => path.startsWith("executor."))?.path;
  return [
    ...first,
    "npm test",
    "npm run dev",
    `TESSERA_API_KEY=$(cat store/key) node ${executor}   # in another terminal, in the same directory`,
    `npx tessera run --data ./store --input ${input}   # in a third one`,
  ];
}

function noProject(shown: string, names: readonly string[]) {
  const some = names.slice(0, 3).join(", ");
  const message = `cannot write a project into ${shown}: it holds ${some}${names.length > 3 ? ", …" : ""} and no ${PACKAGE}`;
  const todo = `Name an empty or new directory; to add to what is there, run \`npm init\` in it first, or give --force.`;
  return errorWithTodo("bad_request", message, todo, EXIT.configuration);
}

function taken(shown: string, files: readonly TemplateFile[]) {
  const message = `cannot write a template into ${shown}: there is ${files.map(({ path }) => path).join(", ")} already`;
  return errorWithTodo("bad_request", message, "Name another directory, or give --force.", EXIT.configuration);
}

function notJson(shown: string) {
  const message = `cannot add to ${join(shown, PACKAGE)}: it is not a JSON object`;
  return errorWithTodo("bad_request", message, "Correct it, or name another directory.", EXIT.configuration);
}

function unwritable(shown: string, error: NodeJS.ErrnoException) {
  const message = `cannot write a template into ${shown}: ${error.code} at ${error.path ?? shown}`;
  return errorWithTodo("bad_request", message, "Name a directory that this user may write.", EXIT.configuration);
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
