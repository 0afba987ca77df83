// tessera tools: its ls, show, register and rm are for the tool registry of a project; call is in tools-call.ts.

import { readFileSync } from "node:fs";
import type { Client, Tool } from "@tessera/client";
import type { Command } from "commander";
import { withApi } from "../connect/connection.ts";
import { inNewProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { type ApiFlags, addApiFlags } from "../flags/flags.ts";
import { isApiProblem, isNotFound } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";
import { labelled, type Terminal } from "../output/printing-gate.ts";
import type { ProgramParts } from "../program.ts";
import { namesOf, toolsOf, unknownTool } from "./known-tools.ts";
import { defineToolsCall } from "./tools-call.ts";

const REGISTER_HELP = `
All files are read first: a mistake in one of them changes nothing. The same
definition again changes nothing, either.

Example:
  $ tessera tools register search.yaml fetch.yaml --data ./store`;

export function defineTools(tools: Command, parts: ProgramParts): void {
  const { terminal, onExit } = parts;
  defineToolsCall(tools.command("call"), parts);
  addApiFlags(tools.command("ls"))
    .description("list the tools of a project")
    .action(async (flags: ApiFlags) => onExit(await toolsLs(flags, terminal)));
  addApiFlags(tools.command("show"))
    .argument("<tool>", "its name, as `tools ls` shows it")
    .description("show a tool's definition")
    .action(async (name: string, flags: ApiFlags) => onExit(await toolsShow(name, flags, terminal)));
  addApiFlags(tools.command("register"))
    .argument("<files...>", "YAML documents, each with one tool")
    .description("add tools to a project, or new versions of them")
    .addHelpText("after", REGISTER_HELP)
    .action(async (files: string[], flags: ApiFlags) => onExit(await toolsRegister(files, flags, terminal)));
  addApiFlags(tools.command("rm"))
    .argument("<tool>", "its name, as `tools ls` shows it")
    .description("remove a tool from a project")
    .action(async (name: string, flags: ApiFlags) => onExit(await toolsRm(name, flags, terminal)));
}

async function toolsLs(flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const tools = await withApi(flags, terminal, ({ client }) => toolsOf(client, flags));
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools: await documentsOf(tools) })}\n`);
  } else if (tools.length > 0) {
    const rows = tools.map(({ toolName, version, targetSubject, description }) => {
      return { tool: toolName, version, target: String(targetSubject).split(".")[6] ?? null, description };
    });
    terminal.out([{ rows }]);
  } else {
    terminal.out(`project ${flags.project} has no tools\n`);
    const todo = "Register one: `tessera tools register FILE`, or start a bundle: `tessera start DIR`.";
    terminal.err([labelled("what to do", todo)]);
  }
  return EXIT.ok;
}

async function toolsShow(name: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const tool = await withApi(flags, terminal, async ({ client }) => {
    try {
      return await client.getTool({ project: flags.project, tool: name });
    } catch (error) {
      throw await toolError(error, client, name, flags);
    }
  });
  const [document] = await documentsOf([tool]);
  const isJson = flags.json === true;
  terminal.out(`${isJson ? JSON.stringify({ ok: true, tool: document }) : JSON.stringify(document, null, 2)}\n`);
  return EXIT.ok;
}

async function toolsRegister(files: readonly string[], flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const { parseToolUpload } = await import("@tessera/runtime");
  // All files are read before anything is written: a mistake in the last one changes nothing.
  const uploads = files.map((file) => {
    const bytes = readFile(file);
    return { bytes, ...parseToolUpload(bytes, { projectId: flags.project, file }) };
  });
  const ignored = uploads.flatMap((upload) => upload.ignored);
  for (const { file, line, column, pointer } of flags.json === true ? [] : ignored) {
    terminal.err(`tessera: warning: ${file}:${line}:${column}: ${pointer} has no meaning here and is ignored\n`);
  }
  const stored = await withApi(flags, terminal, async ({ client }) => {
    const digests = new Map((await toolsOf(client, flags)).map(({ toolName, digest }) => [toolName, digest]));
    const tools: StoredTool[] = [];
    for (const { bytes } of uploads) {
      const upload = () => client.uploadTools({ project: flags.project, body: bytes });
      const answer = await inNewProject(client, flags, terminal, upload);
      tools.push(...answer.tools.map((tool) => storedTool(tool, digests.get(tool.toolName))));
    }
    return tools;
  });
  if (flags.json === true) {
    terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools: stored, ignored })}\n`);
  } else
    terminal.out([{ rows: stored.map(({ tool_name, version, outcome }) => ({ tool: tool_name, version, outcome })) }]);
  return EXIT.ok;
}

interface StoredTool {
  readonly tool_name: string;
  readonly outcome: "added" | "changed" | "unchanged";
  readonly digest: string;
  readonly version: number;
}

function storedTool({ toolName, digest, version }: Tool, before: string | undefined): StoredTool {
  const outcome = before === digest ? "unchanged" : before === undefined ? "added" : "changed";
  return { tool_name: toolName, outcome, digest, version };
}

async function toolsRm(name: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  await withApi(flags, terminal, async ({ client }) => {
    try {
      await client.deleteTool({ project: flags.project, tool: name });
    } catch (error) {
      throw await toolError(error, client, name, flags);
    }
  });
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, removed: name })}\n` : `removed ${name}\n`);
  return EXIT.ok;
}

/** As the API writes it: what a person sees can be registered again. */
async function documentsOf(tools: readonly Tool[]) {
  const { wireDocument } = await import("@tessera/client");
  return tools.map((tool) => wireDocument("Tool", tool));
}

/** What the API said about a tool, with what can be done about it. */
async function toolError(error: unknown, client: Client, name: string, flags: ApiFlags): Promise<unknown> {
  const { project } = flags;
  if (isNotFound(error)) return unknownTool(name, project, namesOf(await toolsOf(client, flags)));
  if (!isApiProblem(error) || error.code !== "conflict") return error;
  const todo = "Wait until they have ended, or stop their turns: tessera turns ls --status active; then repeat.";
  return errorWithTodo("conflict", `${name} was not removed from project ${project}: calls of it are open`, todo);
}

function readFile(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw errorWithTodo("bad_request", `cannot read ${file}: ${code}`, "Check the path.", EXIT.configuration);
  }
}
