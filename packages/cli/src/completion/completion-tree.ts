// The commands of the program as a table, for the scripts that complete them.
//
//   T1. The table is walked from the program itself, so a new command or flag is completed without a change here.
//   T2. What a flag takes is its choices where the parser knows them, else what VALUES says, else files or directories
//       where its placeholder says so, else nothing.

import type { Command, Option } from "commander";
import { API_KEY_ROLES, ROLES } from "../flags/roles.ts";

export type Takes =
  | { readonly kind: "words"; readonly words: readonly string[] }
  | { readonly kind: "files" | "directories" | "anything" };

interface CompletedOption {
  readonly long: string;
  readonly about: string;
  /** Null: it takes no value. */
  readonly takes: Takes | null;
}

export interface CompletedCommand {
  /** `turns ls`; empty for the program itself. */
  readonly path: string;
  readonly about: string;
  readonly children: readonly { readonly name: string; readonly about: string }[];
  readonly options: readonly CompletedOption[];
  /** Of its first argument; null without one. */
  readonly takes: Takes | null;
}

/** Values of flags that are lists or that their command reads itself (T2). */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  "start --role": ROLES,
  "keys create --role": API_KEY_ROLES,
  "--builtins": ["agents", "bash", "file-system", "http-fetch", "json-query", "text-transform", "wait"],
};

export function completedCommands(program: Command): readonly CompletedCommand[] {
  return walk(program, "");
}

function walk(command: Command, path: string): CompletedCommand[] {
  const children = command.commands.filter((child) => child.name() !== "help");
  const own = {
    path,
    about: firstLine(command.description()),
    children: children.map((child) => ({ name: child.name(), about: firstLine(child.description()) })),
    options: optionsOf(command, path),
    takes: argumentTakes(command),
  };
  return [own, ...children.flatMap((child) => walk(child, path === "" ? child.name() : `${path} ${child.name()}`))];
}

function optionsOf(command: Command, path: string): CompletedOption[] {
  const known = command.options.filter((option) => option.long && !option.hidden);
  const options = known.map((option) => ({
    long: option.long ?? "",
    about: firstLine(option.description),
    takes: optionTakes(option, path),
  }));
  return [...options, { long: "--help", about: "show help", takes: null }];
}

/** T2 */
function optionTakes(option: Option, path: string): Takes | null {
  if (!option.required && !option.optional) return null;
  const words = option.argChoices ?? VALUES[`${path} ${option.long}`] ?? VALUES[option.long ?? ""];
  if (words !== undefined) return { kind: "words", words };
  return placeholderTakes(option.flags);
}

function argumentTakes(command: Command): Takes | null {
  const [first] = command.registeredArguments;
  if (first === undefined) return null;
  if (first.argChoices !== undefined) return { kind: "words", words: first.argChoices };
  return placeholderTakes(`<${first.name()}>`);
}

function placeholderTakes(text: string): Takes {
  const placeholder = /[<[]([^>\]]+)[>\]]/.exec(text)?.[1] ?? "";
  if (/^(?:dir|directory)$/.test(placeholder)) return { kind: "directories" };
  return /^(?:file|bundle|path)(?:\.\.\.)?$/.test(placeholder) ? { kind: "files" } : { kind: "anything" };
}

function firstLine(text: string): string {
  return text.split("\n")[0] ?? "";
}
