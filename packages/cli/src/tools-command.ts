// tessera tools ls, show, register, rm: the tool registry of a project in a store.

import { readFileSync } from "node:fs";
import { BadRequest, errorOf } from "@tessera/protocol";
import { parseToolUpload, storeTools } from "@tessera/runtime";
import { alignRows } from "./align-rows.ts";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./run-cli.ts";
import { type ProjectFlags, withNode } from "./tool-flags.ts";

export async function toolsLsCommand(flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const tools = await withNode(flags, terminal, { sweep: false }, (node) => node.kernel.reads.tools(flags.project));
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools })}\n`);
  else if (tools.length === 0) {
    terminal.out(
      `project ${flags.project} has no tools\n  what to do  Register one: tessera tools register tool.yaml, or start a bundle that has some.\n`,
    );
  } else {
    const rows = tools.map(({ tool_name, version, target_subject, after_execution, description }) => {
      return {
        tool: tool_name,
        version,
        target: String(target_subject).split(".").slice(6).join("."),
        after_execution,
        description,
      };
    });
    terminal.out(alignRows(rows));
  }
  return EXIT.ok;
}

export async function toolsShowCommand(name: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const tools = await withNode(flags, terminal, { sweep: false }, (node) => node.kernel.reads.tools(flags.project));
  const tool = tools.find((each) => each.tool_name === name);
  if (tool === undefined) throw errorOf("not_found", `project ${flags.project} has no tool ${name}`);
  terminal.out(
    `${JSON.stringify(flags.json === true ? { ok: true, tool } : tool, null, flags.json === true ? 0 : 2)}\n`,
  );
  return EXIT.ok;
}

export async function toolsRegisterCommand(
  files: readonly string[],
  flags: ProjectFlags,
  terminal: Terminal,
): Promise<ExitCode> {
  // All files are read before anything is written: a mistake in the last one changes nothing.
  const definitions = files.flatMap(
    (file) => parseToolUpload(readFile(file), { projectId: flags.project, file }).definitions,
  );
  const stored = await withNode(flags, terminal, { sweep: false }, (node) =>
    storeTools(node, flags.project, definitions),
  );
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: true, project: flags.project, tools: stored })}\n`);
  else
    terminal.out(alignRows(stored.map(({ tool_name, outcome, version }) => ({ tool: tool_name, version, outcome }))));
  return EXIT.ok;
}

export async function toolsRmCommand(name: string, flags: ProjectFlags, terminal: Terminal): Promise<ExitCode> {
  const outcome = await withNode(flags, terminal, { sweep: false }, (node) =>
    node.kernel.removeTool({ project_id: flags.project, tool_name: name }),
  );
  if (outcome.outcome === "rejected") {
    const why = outcome.code === "conflict" ? "calls of it are still open" : "there is no such tool";
    throw errorOf(outcome.code, `${name} was not removed from project ${flags.project}: ${why}`);
  }
  terminal.out(flags.json === true ? `${JSON.stringify({ ok: true, removed: name })}\n` : `removed ${name}\n`);
  return EXIT.ok;
}

function readFile(file: string): Uint8Array {
  try {
    return readFileSync(file);
  } catch (error) {
    throw new BadRequest(`cannot read ${file}: ${(error as NodeJS.ErrnoException).code ?? "unknown"}`);
  }
}
