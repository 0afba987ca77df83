// The scripts that complete `tessera` in bash, zsh and fish, made from the program's own table (completion-tree.ts).
//
//   S1. A script needs nothing but its shell, and starts no process: a Tab must not wait for Node.
//   S2. Every text of ours is quoted for the shell it goes to.

import type { Command } from "commander";
import type { Shell } from "../commands/completion.ts";
import { type CompletedCommand, completedCommands, type Takes } from "./completion-tree.ts";

export function completionScript(program: Command, shell: Shell): string {
  const name = program.name();
  const commands = completedCommands(program);
  if (shell === "bash") return bashScript(name, commands);
  return shell === "zsh" ? zshScript(name, commands) : fishScript(name, commands);
}

/** bash and zsh walk the words the same way: flags and their values are stepped over, the rest is the command's path.
 *  (`path` itself is a name that zsh keeps for its own.) */
function walkOf(commands: readonly CompletedCommand[], words: string, until: string): string {
  const valued = new Set(
    commands.flatMap(({ options }) => options.filter(({ takes }) => takes).map(({ long }) => long)),
  );
  const paths = commands.map(({ path }) => path).filter((path) => path !== "");
  return `  local at="" word="" i=0
  for (( i = ${words}; i < ${until}; i++ )); do
    word="\${words[i]}"
    case "$word" in
      ${[...valued].sort().join("|")}) (( i++ )) ;;
      -*) ;;
      *)
        case "\${at:+$at }$word" in
          ${paths.map(quoted).join("|")}) at="\${at:+$at }$word" ;;
        esac ;;
    esac
  done`;
}

/** First the values of flags, which return, then what each command takes. */
function casesOf(flags: string, rows: readonly string[]): string {
  return `  case "$at $prev" in
${flags}
  esac
  case "$at" in
${rows.join("\n")}
  esac`;
}

function bashScript(name: string, commands: readonly CompletedCommand[]): string {
  const flags = valueCases(commands, bashTakes);
  const rows = commands.map(({ path, children, options, takes }) => {
    const names = children.map((child) => child.name).join(" ");
    const longs = options.map(({ long }) => long).join(" ");
    const others = takes === null ? `COMPREPLY=($(compgen -W ${quoted(names)} -- "$cur"))` : bashTakes(takes);
    return `    ${quoted(path)})
      if [[ "$cur" == -* ]]; then COMPREPLY=($(compgen -W ${quoted(longs)} -- "$cur"))
      else ${others}; fi ;;`;
  });
  return `# bash completion for ${name}: source <(${name} completion bash)
_${name}() {
  local words=("\${COMP_WORDS[@]}") cur="\${COMP_WORDS[COMP_CWORD]}" prev="\${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
${walkOf(commands, "1", "COMP_CWORD")}
${casesOf(flags, rows)}
}
complete -F _${name} ${name}
`;
}

function bashTakes(takes: Takes): string {
  switch (takes.kind) {
    case "words":
      return `COMPREPLY=($(compgen -W ${quoted(takes.words.join(" "))} -- "$cur"))`;
    case "files":
      return `compopt -o filenames; COMPREPLY=($(compgen -f -- "$cur"))`;
    case "directories":
      return `compopt -o filenames; COMPREPLY=($(compgen -d -- "$cur"))`;
    case "anything":
      return ":";
  }
}

function zshScript(name: string, commands: readonly CompletedCommand[]): string {
  const flags = valueCases(commands, zshTakes);
  const rows = commands.map(({ path, children, options, takes }) => {
    const described = (list: readonly { readonly name: string; readonly about: string }[]) =>
      list.map((item) => quoted(`${item.name.replaceAll(":", "\\:")}:${item.about}`)).join(" ");
    const longs = described(options.map(({ long, about }) => ({ name: long, about })));
    const others = takes === null ? `list=(${described(children)}); _describe command list` : zshTakes(takes);
    return `    ${quoted(path)})
      if [[ "$PREFIX" == -* ]]; then list=(${longs}); _describe option list
      else ${others}; fi ;;`;
  });
  return `#compdef ${name}
# zsh completion for ${name}
_${name}() {
  local -a list
  local prev="\${words[CURRENT-1]}"
${walkOf(commands, "2", "CURRENT")}
${casesOf(flags, rows)}
}
if [[ "\${funcstack[1]}" == "_${name}" ]]; then _${name} "$@"; else compdef _${name} ${name}; fi
`;
}

function zshTakes(takes: Takes): string {
  switch (takes.kind) {
    case "words":
      return `compadd -- ${takes.words.map(quoted).join(" ")}`;
    case "files":
      return "_files";
    case "directories":
      return "_files -/";
    case "anything":
      return ":";
  }
}

/** What stands behind a flag that takes a value; the shell returns, because nothing else can stand there. */
function valueCases(commands: readonly CompletedCommand[], take: (takes: Takes) => string): string {
  return commands
    .flatMap(({ path, options }) =>
      options.flatMap(({ long, takes }) =>
        takes === null ? [] : [`    ${quoted(`${path} ${long}`)}) ${take(takes)}; return ;;`],
      ),
    )
    .join("\n");
}

function fishScript(name: string, commands: readonly CompletedCommand[]): string {
  const rows = commands.flatMap(({ path, children, options, takes }) => {
    const when = quoted(
      fishWhen(
        path,
        children.map((child) => child.name),
      ),
    );
    const start = `complete -c ${name} -n ${when}`;
    return [
      ...children.map((child) => `${start} -f -a ${quoted(child.name)} -d ${quoted(child.about)}`),
      ...options.map(
        (option) => `${start} -l ${option.long.slice(2)} -d ${quoted(option.about)}${fishTakes(option.takes)}`,
      ),
      ...(takes === null || children.length > 0 ? [] : [`${start}${fishTakes(takes).replace(" -r", "")}`]),
    ];
  });
  return `# fish completion for ${name}
complete -c ${name} -f
${rows.join("\n")}
`;
}

/** All words of the path are there, and none of what could follow it. */
function fishWhen(path: string, children: readonly string[]): string {
  const seen = path === "" ? [] : path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
  const next = children.length === 0 ? [] : [`not __fish_seen_subcommand_from ${children.join(" ")}`];
  return [...seen, ...next].join("; and ") || "true";
}

function fishTakes(takes: Takes | null): string {
  if (takes === null) return "";
  if (takes.kind === "words") return ` -r -f -a ${quoted(takes.words.join(" "))}`;
  return takes.kind === "anything" ? " -r -f" : " -r -F";
}

/** S2. One form for all three. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
