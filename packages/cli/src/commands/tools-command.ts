// tessera tools ls, show, register, rm: the tool registry of a project.

import { readFileSync } from "node:fs";
import { type Client, type Tool, wireDocument } from "@tessera/client";
import { allPages } from "../connect/all-pages.ts";
import { withApi } from "../connect/connection.ts";
import { inNewProject, listOfProject } from "../connect/project-access.ts";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import type { ApiFlags } from "../flags/flags.ts";
import { isApiProblem, isNotFound } from "../output/api-failure.ts";
import { errorWithTodo } from "../output/failure.ts";
import { labelled, type Terminal } from "../output/printing-gate.ts";
import { namesOf, unknownTool } from "./unknown-tool.ts";

export async function toolsLsCommand(flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const tools = await withApi(flags, terminal, ({ client }) => toolsOf(client, flags));
  if (flags.json === true)
    terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools: tools.map(documentOf) })}\n`);
  else if (tools.length > 0) {
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

export async function toolsShowCommand(name: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
  const tool = await withApi(flags, terminal, async ({ client }) => {
    try {
      return await client.getTool({ project: flags.project, tool: name });
    } catch (error) {
      throw await toolError(error, client, name, flags);
    }
  });
  const document = documentOf(tool);
  const isJson = flags.json === true;
  terminal.out(`${isJson ? JSON.stringify({ ok: true, tool: document }) : JSON.stringify(document, null, 2)}\n`);
  return EXIT.ok;
}

export async function toolsRegisterCommand(
  files: readonly string[],
  flags: ApiFlags,
  terminal: Terminal,
): Promise<ExitCode> {
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

export async function toolsRmCommand(name: string, flags: ApiFlags, terminal: Terminal): Promise<ExitCode> {
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
function documentOf(tool: Tool) {
  return wireDocument("Tool", tool);
}

/** An empty list where the project has not been made yet. */
export function toolsOf(client: Client, { project }: ApiFlags): Promise<Tool[]> {
  return listOfProject(project, () => allPages("tools", (page) => client.listTools({ project, ...page })));
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
