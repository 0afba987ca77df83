// tessera tools call: one durable tool call from the command line. Loads the bundle, commits the call, runs it in its
// placement (or waits for whoever does) and prints the result.
//
//   C1. stdout holds the result and nothing else, so that it can be piped; logs, progress and failures go to stderr.
//   C2. The exit code tells success (0), failure (5), still waiting (6) and an unknown outcome (7) apart.

import { existsSync, readFileSync } from "node:fs";
import { ARGUMENTS_BYTES_MAX, BadRequest, CGError, isJsonObject, parseJson } from "@tessera/protocol";
import {
  BUILTIN_RESOURCES,
  callTool,
  openToolHost,
  startToolCaller,
  type ToolCallAnswer,
  type ToolHostOptions,
} from "@tessera/runtime";
import { EXIT, type ExitCode } from "./exit-codes.ts";
import type { Terminal } from "./run-cli.ts";
import { type HostFlags, hostOptions, withNode } from "./tool-flags.ts";

export interface ToolCallFlags extends HostFlags {
  readonly arguments?: string;
  readonly bundle?: string;
  readonly wait: string;
  readonly agent?: string;
}

const BUNDLE_FILES = ["tessera.yaml", "goondan.yaml", "tessera.config.ts", "tessera.config.js", "tessera.config.mjs"];

export async function toolCallCommand(name: string, flags: ToolCallFlags, terminal: Terminal): Promise<ExitCode> {
  const given = readArguments(flags.arguments);
  const waitMs = readSeconds(flags.wait) * 1_000;
  const warn = (warning: string) => {
    if (flags.json !== true) terminal.err(`tessera: warning: ${warning}\n`);
  };
  const answer = await withNode(flags, terminal, { throwAway: true, onWarning: warn }, async (node) => {
    const onLog: ToolHostOptions["onLog"] = ({ level, message }) => {
      if (flags.json !== true) terminal.err(`${level.padEnd(5)} ${message}\n`);
    };
    const bundle = flags.bundle ?? (BUNDLE_FILES.some((file) => existsSync(file)) ? "." : undefined);
    const host = await openToolHost({
      ...hostOptions({ builtins: BUILTIN_RESOURCES.join(","), ...flags }, terminal, bundle),
      node,
      onLog,
      onWarning: warn,
    });
    try {
      const caller = await startToolCaller({
        ...node,
        runner: host.runner,
        isHosted: host.isHosted,
        workerId: node.ids.mint("worker"),
        onLog,
        onProgress: (_, { message, fraction }) => {
          const part = fraction === undefined ? "" : ` ${Math.round(fraction * 100)} %`;
          if (flags.json !== true) terminal.err(`progress${part} ${message ?? ""}\n`);
        },
        onWarning: warn,
      });
      try {
        const agent = flags.agent === undefined ? {} : { agent_id: flags.agent };
        const request = { project_id: flags.project, tool_name: name, arguments: given, ...agent };
        return await callTool(node, caller, request, { waitMs });
      } finally {
        await caller.stop();
      }
    } finally {
      await host.close({ graceMs: 1_000 });
    }
  });
  tellAnswer(name, answer, flags, terminal);
  return exitCodeOf(answer);
}

function tellAnswer(name: string, answer: ToolCallAnswer, flags: ToolCallFlags, terminal: Terminal): void {
  const isOk = answer.status === "success" || answer.status === "partial";
  if (flags.json === true) terminal.out(`${JSON.stringify({ ok: isOk, tool: name, ...answer })}\n`);
  else if (isOk) terminal.out(`${JSON.stringify(answer.result, null, 2)}\n`);
  else terminal.err(answer.status === "waiting" ? waitingText(name, answer, flags) : failureText(name, answer));
}

function waitingText(name: string, { agent_turn_id }: ToolCallAnswer, { wait }: ToolCallFlags): string {
  const todo =
    "Start an executor for it, or wait longer with --wait; in a store (--data, --postgres) the call is kept.";
  return `tessera: ${name} has not answered within ${wait} s; its turn is ${agent_turn_id}\n  what to do  ${todo}\n`;
}

function failureText(name: string, { status, error }: ToolCallAnswer): string {
  const { code = "unknown_error", message = "", detail } = error ?? {};
  const hint = isJsonObject(detail) && typeof detail.suggestion === "string" ? detail.suggestion : null;
  return `tessera: ${name} ended ${status}: ${message}\n  code        ${code}\n${hint === null ? "" : `  what to do  ${hint}\n`}`;
}

/** C2 */
function exitCodeOf({ status, error }: ToolCallAnswer): ExitCode {
  if (status === "waiting") return EXIT.waiting;
  if (status === "success" || status === "partial") return EXIT.ok;
  return error?.code === "outcome_unknown" ? EXIT.unknown : EXIT.failed;
}

/** JSON text, or @file. What is no JSON is the user's mistake and never reaches the tool. */
function readArguments(text = "{}"): unknown {
  try {
    const json = text.startsWith("@") ? readFileSync(text.slice(1), "utf8") : text;
    return parseJson(json, { bytesMax: ARGUMENTS_BYTES_MAX });
  } catch (error) {
    const why = CGError.is(error) ? error.message : `cannot read ${text.slice(1)}`;
    throw new BadRequest(`--arguments must be a JSON object, or @file with one: ${why}`);
  }
}

function readSeconds(text: string): number {
  const seconds = Number(text);
  if (Number.isFinite(seconds) && seconds >= 0 && seconds <= 86_400) return seconds;
  throw new BadRequest(`--wait must be a number of seconds from 0 to 86400; it is ${JSON.stringify(text)}`);
}
