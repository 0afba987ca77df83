// tessera tools ls, show, register, rm: the tool registry of a project in a store.

import { readFileSync } from "node:fs";
import { errorOf } from "@tessera/protocol";
import { parseToolUpload, storeTools } from "@tessera/runtime";
import { alignRows } from "./align-rows.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import { errorWithTodo } from "./failure.ts";
import type { ProjectFlags } from "./flags.ts";
import type { Terminal } from "./run-cli.ts";
import { unknownTool } from "./unknown-tool.ts";
import { LOOKING, WRITING, withNode } from "./with-node.ts";

export async function toolsLsCommand(flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const tools = await withNode(flags, terminal, LOOKING, (node) => node.kernel.reads.tools(flags.project));
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools })}\n`);
  else if (tools.length > 0) {
    const rows = tools.map(({ tool_name, version, target_subject, description }) => {
      return { tool: tool_name, version, target: String(target_subject).split(".")[6] ?? null, description };
    });
    terminal.out(alignRows(rows));
  } else {
    terminal.out(`project ${flags.project} has no tools\n`);
    terminal.err("  what to do  Register one: tessera tools register FILE, or start a bundle: tessera start DIR.\n");
  }
  return EXIT.ok;
}

export async function toolsShowCommand(name: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const tool = await withNode(flags, terminal, LOOKING, async ({ kernel }) => {
    const found = await kernel.reads.tool(flags.project, name);
    if (found !== null) return found;
    throw unknownTool(name, flags.project, namesOf(await kernel.reads.tools(flags.project)));
  });
  const isJson = flags.json === true;
  terminal.out(`${isJson ? JSON.stringify({ ok: true, tool }) : JSON.stringify(tool, null, 2)}\n`);
  return EXIT.ok;
}

export async function toolsRegisterCommand(
  files: readonly string[],
  flags: ProjectFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  // All files are read before anything is written: a mistake in the last one changes nothing.
  const uploads = files.map((file) => parseToolUpload(readFile(file), { projectId: flags.project, file }));
  for (const { file, line, column, pointer } of flags.json === true ? [] : uploads.flatMap(({ ignored }) => ignored)) {
    terminal.err(`tessera: warning: ${file}:${line}:${column}: ${pointer} has no meaning here and is ignored\n`);
  }
  const definitions = uploads.flatMap((upload) => upload.definitions);
  const stored = await withNode(flags, terminal, WRITING, (node) => storeTools(node, flags.project, definitions));
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools: stored })}\n`);
  else terminal.out(alignRows(stored.map(storedRow)));
  return EXIT.ok;
}

function storedRow({ tool_name, outcome, version }: { tool_name: string; outcome: string; version: number }) {
  const done = outcome === "duplicate" ? "unchanged" : version === 1 ? "added" : "changed";
  return { tool: tool_name, version, outcome: done };
}

export async function toolsRmCommand(name: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  await withNode(flags, terminal, LOOKING, async ({ kernel }) => {
    const outcome = await kernel.removeTool({ project_id: flags.project, tool_name: name });
    if (outcome.outcome !== "rejected") return;
    if (outcome.code === "conflict") {
      const todo = "Wait until they have ended, or cancel their turns; then repeat.";
      throw errorWithTodo(
        "conflict",
        `${name} was not removed from project ${flags.project}: calls of it are open`,
        todo,
      );
    }
    if ((await kernel.reads.tool(flags.project, name)) === null) {
      throw unknownTool(name, flags.project, namesOf(await kernel.reads.tools(flags.project)));
    }
    throw errorOf(outcome.code, `${name} was not removed from project ${flags.project}`);
  });
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, removed: name })}\n` : `removed ${name}\n`);
  return EXIT.ok;
}

export function namesOf(tools: readonly Readonly<Record<string, unknown>>[]): string[] {
  return tools.map(({ tool_name }) => String(tool_name));
}

function readFile(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw errorWithTodo("bad_request", `cannot read ${file}: ${code}`, "Check the path.", EXIT.configuration);
  }
}
