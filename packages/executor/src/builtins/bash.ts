// bash: a command line or a script of the workdir. shell/sandbox.ts says what they can reach.
//
//   B1. Without a sandbox, and without the operator's leave, both exports answer `forbidden` and say why.
//   B2. The environment is PATH, HOME (the workdir), LANG and the argument `env`; nothing of this process's. Variables that
//       change how programs are loaded or how a shell starts are refused.
//   B3. `/bin/sh -c`, without `-l`: a login shell would run the machine's profile, and the workdir's, before the command.
//   B4. A timeout is a normal result with `timedOut`. Commands are `once`: what half a command did is unknown.

import { constants } from "node:fs";
import { realpath } from "node:fs/promises";
import type { Clock } from "@tessera/kernel/ports";
import { BadRequest } from "@tessera/protocol";
import {
  defineTool,
  type JsonObject,
  type JsonValue,
  type RegisteredTool,
  type ToolContext,
  ToolError,
} from "@tessera/tool";
import { isEnvName } from "@tessera/tool/catalog";
import { probeShell, type ShellOptions, type ShellStatus, setupOf } from "../shell/probe.ts";
import { runShell } from "../shell/run.ts";
import { planSpawn } from "../shell/sandbox.ts";
import { openDirectory, openFile, pathOf, resolveInside } from "./workdir-path.ts";

const ERROR_MESSAGE_LIMIT = 1_200;
const TIMEOUT_MS = { default: 30_000, max: 600_000 };
/** The argument decides; the call's own limit stands behind it, with time to kill and to drain. */
const CALL_TIMEOUT_MS = TIMEOUT_MS.max + 10_000;
const ENV_MAX = 64;
const COMMAND_CHARS = { max: 65_536, shown: 8_192 };

const FORBIDDEN_VARIABLE =
  /^(LD_.*|DYLD_.*|BASH_.*|ENV|IFS|SHELLOPTS|BASHOPTS|PS4|PROMPT_COMMAND|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|MALLOC_.*|HOSTALIASES|LOCALDOMAIN|RES_OPTIONS|RESOLV_HOST_CONF|TZDIR)$/;

const timeoutMs = { type: "integer", minimum: 1, maximum: TIMEOUT_MS.max, default: TIMEOUT_MS.default } as const;
const env = {
  type: "object",
  maxProperties: ENV_MAX,
  additionalProperties: { type: ["string", "number", "boolean"] },
  default: {},
} as const;
const common = {
  errorMessageLimit: ERROR_MESSAGE_LIMIT,
  timeoutMs: CALL_TIMEOUT_MS,
  placement: "inline",
  effect: "once", // B4
} as const;

export interface BashOptions extends ShellOptions {
  /** What a probe said earlier. Absent: probed before the first command. */
  readonly status?: ShellStatus;
}

export function bashTools(options: BashOptions, clock: Clock): readonly RegisteredTool[] {
  let probing: Promise<ShellStatus> | null = options.status === undefined ? null : Promise.resolve(options.status);

  const run = async (ctx: ToolContext, job: Job): Promise<JsonObject> => {
    probing ??= probeShell(options, clock).catch((error: unknown) => {
      probing = null; // a full disk, say: the next call tries again
      throw error;
    });
    const status = await probing;
    if (status.kind === "off") throw shellOff(status); // B1
    const variables = checkVariables(job.env);
    const cwd = await resolveInside(ctx.workdir, job.cwd);
    await (await openDirectory(cwd, { create: false })).close();
    const workdir = await realpath(ctx.workdir);
    const setup = setupOf(options, status.kind);
    const plan = planSpawn(setup, { ...job, workdir, cwd: pathOf(cwd), env: variables });
    const { limits } = setup;
    const outcome = await runShell(plan, { timeoutMs: job.timeoutMs, signal: ctx.signal, clock, limits });
    return { cwd: cwd.shown, ...outcome };
  };

  const exec = defineTool({
    ...common,
    name: "bash__exec",
    description: "Runs a command line with /bin/sh in the working directory. No network; files outside cannot be seen.",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["command"],
      properties: {
        command: { type: "string", minLength: 1, maxLength: COMMAND_CHARS.max },
        cwd: { type: "string", description: "Relative to the working directory", default: "." },
        timeoutMs,
        env,
      },
    },
    handler: async (ctx, input) => ({
      command: input.command.slice(0, COMMAND_CHARS.shown),
      ...(await run(ctx, { ...input, argv: ["/bin/sh", "-c", noNul(input.command, "command")] })), // B3
    }),
  });

  const script = defineTool({
    ...common,
    name: "bash__script",
    description: "Runs a script file of the working directory.",
    parameters: {
      type: "object",
      additionalProperties: false,
      required: ["path"],
      properties: {
        path: { type: "string", description: "Relative to the working directory" },
        args: { type: "array", items: { type: "string" }, maxItems: 256, default: [] },
        shell: { type: "string", pattern: "^/(usr/)?bin/[A-Za-z0-9._+-]+$", default: "/bin/bash" },
        timeoutMs,
        env,
      },
    },
    handler: async (ctx, input) => {
      const place = await resolveInside(ctx.workdir, input.path);
      await (await openFile(place, constants.O_RDONLY)).close();
      const args = input.args.map((arg, index) => noNul(arg, `args[${index}]`));
      const argv = [input.shell, pathOf(place), ...args] as const;
      const ran = await run(ctx, { argv, cwd: ".", timeoutMs: input.timeoutMs, env: input.env });
      return { path: place.shown, shell: input.shell, args, ...ran };
    },
  });

  return [exec, script];
}

interface Job {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly timeoutMs: number;
  readonly env: JsonObject;
}

/** B2. */
function checkVariables(given: Readonly<Record<string, JsonValue>>): Record<string, string> {
  const variables: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(given)) {
    if (!isEnvName(name)) throw new BadRequest(`${JSON.stringify(name.slice(0, 100))} is no name of a variable`);
    if (FORBIDDEN_VARIABLE.test(name)) throw new BadRequest(`the variable ${name} cannot be set for a command`);
    variables[name] = noNul(String(value), `env.${name}`);
  }
  return variables;
}

function noNul(text: string, what: string): string {
  if (text.includes("\0")) throw new BadRequest(`${what} holds the character NUL`);
  return text;
}

function shellOff(status: ShellStatus): ToolError {
  return new ToolError(`the shell is off: ${status.reason}`, {
    code: "forbidden",
    suggestion:
      "Work with the other tools. An operator can install bubblewrap, or set allowUnconfinedShell to run commands without a sandbox.",
  });
}
