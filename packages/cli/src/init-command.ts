// tessera init: a small bundle that runs at once, from a template.
//
//   I1. Nothing is overwritten without --force: a directory that holds anything is refused, and each file is made only where
//       none is.
//   I2. Everything is checked before the first file is written.
//   I3. The next commands work where the reader stands: they name the directory, and the command as it was called.

import { existsSync } from "node:fs";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { basename, delimiter, dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { visibleLine } from "@tessera/protocol";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { errorWithTodo } from "./failure.ts";
import { DOTTED, TEMPLATES, TEMPLATES_DIRECTORY, type TemplateName } from "./init-templates.ts";
import { quoted } from "./paste-command.ts";
import { sentence, type Terminal, type Text } from "./printing-gate.ts";
import { shownPath } from "./validate-path.ts";

export interface InitFlags {
  readonly template: TemplateName;
  readonly force?: boolean;
  readonly json?: boolean;
}

export async function initCommand(given: string | undefined, flags: InitFlags, terminal: Terminal): Promise<ExitCode> {
  const directory = resolve(given ?? ".");
  const shown = shownPath(directory);
  try {
    const there = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
    if (there.length > 0 && flags.force !== true) throw notEmpty(shown, there); // I1
    const files = await writeTemplate(flags.template, directory, flags.force === true);
    if (flags.json === true) {
      terminal.out(`${JSON.stringify({ ok: true, template: flags.template, directory, files })}\n`);
    } else terminal.out(writtenText(shown, flags.template, files, calledAs(process.argv[1], terminal.env)));
    return EXIT.ok;
  } catch (error) {
    throw isFileError(error) ? unwritable(shown, error) : error;
  }
}

/** The files that were written, as paths in `directory`. */
async function writeTemplate(template: TemplateName, directory: string, isForced: boolean): Promise<string[]> {
  const from = join(fileURLToPath(TEMPLATES_DIRECTORY), template);
  const entries = await readdir(from, { recursive: true, withFileTypes: true });
  const names = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(from, join(entry.parentPath, entry.name)))
    .sort();
  const files = await Promise.all(
    names.map(async (name) => ({ path: DOTTED[name] ?? name, text: await readFile(join(from, name)) })),
  ); // I2
  for (const { path, text } of files) {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text, { flag: isForced ? "w" : "wx" }); // I1
  }
  return files.map(({ path }) => path);
}

/** I3 */
function writtenText(shown: string, template: TemplateName, files: readonly string[], tessera: string): Text {
  const at = quoted(shown);
  const { input } = TEMPLATES[template];
  const store = quoted(join(shown, "store"));
  const key = quoted(join(shown, "store/key"));
  const next =
    template === "service"
      ? [
          `${tessera} dev ${at} --data ${store}`,
          `TESSERA_API_KEY=$(cat ${key}) node ${quoted(join(shown, "executor.mjs"))}   # in another terminal`,
          `${tessera} run --data ${store} --input ${quoted(input)}   # in a third one`,
        ]
      : [`${tessera} run ${at} --input ${quoted(input)}`, `${tessera} dev ${at}`];
  const lines = [`${tessera} validate ${at}`, ...next].map((command) => `  ${visibleLine(command)}\n`);
  const list = files.map((file) => `  ${visibleLine(join(shown, file))}\n`).join("");
  return [sentence(`wrote ${template}, ${TEMPLATES[template].about}:`), `${list}\nNext:\n${lines.join("")}`];
}

/** Its path where no `tessera` is on PATH: there npx would offer a package of that name that is not this one. */
export function calledAs(started: string | undefined, { PATH = "", npm_command }: Terminal["env"]): string {
  if (npm_command === "exec") return "npx tessera"; // whose PATH is not that of the person
  const isOnPath = PATH.split(delimiter).some((place) => place !== "" && existsSync(join(place, "tessera")));
  if (isOnPath || started === undefined || !/^tessera(?:\.js)?$/.test(basename(started))) return "tessera";
  return quoted(shownPath(started));
}

function notEmpty(shown: string, there: readonly string[]) {
  const some = there.slice(0, 3).join(", ");
  const message = `cannot write a template into ${shown}: it holds ${some}${there.length > 3 ? ", …" : ""}`;
  return errorWithTodo("bad_request", message, "Name an empty or new directory, or give --force.", EXIT.configuration);
}

function unwritable(shown: string, error: NodeJS.ErrnoException) {
  const message = `cannot write a template into ${shown}: ${error.code} at ${error.path ?? shown}`;
  return errorWithTodo("bad_request", message, "Name a directory that this user may write.", EXIT.configuration);
}

function isFileError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && "syscall" in error;
}
