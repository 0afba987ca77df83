// Runs calls of tools whose code is here, inline or isolated: the one ToolRunner of a process that hosts code.
//
// In order: find the code, read what comes from the environment, complete and check the arguments, run, mask, build the
// card's content. The workspace is made when the tool asks for it.
//
//   U1. Never throws: whatever goes wrong is the content of a result (tool's R1).
//   U2. Where code runs follows from what it is: a function runs inline, a module in a child.
//   U3. No secret that was handed to a tool leaves through its result, error, log, progress or messages to other agents.
//   U4. `close` ends what still runs as a crash would; drain first if that matters.
//   U5. What went wrong in a tool's code is in the log once, with its stack, and reported to the host; what a tool failed with on
//       purpose (a ToolError, or a suggestion) is only reported.
//   U6. What a tool says of a directory for another agent is a place in its own workdir, links and absolute paths resolved.
//   U7. A host whose code changes has a runner for each state of it (`resolving`); what they share ends with any of them.

import type { Clock } from "@tessera/kernel/ports";
import { TesseraError, type ToolResultContent, targetSubjectFor } from "@tessera/protocol";
import {
  type AgentToolRuntime,
  type RegisteredTool,
  type RunOptions,
  type ToolDefinition,
  type ToolInvocation,
  type ToolLogEntry,
  type ToolProgress,
  type ToolRunner,
  toolPolicy,
} from "@tessera/tool";
import { completeArguments } from "@tessera/tool/catalog";
import { createCallLogger, describeThrown, failureOf, stackOf } from "@tessera/tool/run";
import { resolveInside } from "../builtins/workdir-path.ts";
import { createMaskCache, NO_SECRETS, type SecretMask } from "../secrets/secret-mask.ts";
import type { Workspaces } from "../workspace/workspaces.ts";
import { resolveEnvs, type ToolEnvironment } from "./env-arguments.ts";
import { runInline } from "./inline.ts";
import type { IsolatedCall, IsolatedHost } from "./isolated/isolated-host.ts";
import type { WorkerHooks } from "./isolated/isolated-worker.ts";
import { createMissingVariables } from "./missing-variables.ts";
import { contentOfEnd, failureOfEnd, type RunEnd } from "./run-end.ts";
import { traceRun } from "./trace-run.ts";

export interface ToolRunnerOptions {
  /** The tool of a call; null when this process does not have it. */
  readonly resolve: (invocation: ToolInvocation) => RegisteredTool | null;
  readonly isolated: IsolatedHost;
  readonly workspaces: Workspaces;
  readonly environment: ToolEnvironment;
  readonly clock: Clock;
  readonly onWarning: (warning: string) => void;
}

export interface HostToolRunner extends ToolRunner {
  /** This runner with other code (U7). */
  resolving(resolve: ToolRunnerOptions["resolve"]): ToolRunner;
}

export function createToolRunner(options: ToolRunnerOptions): HostToolRunner {
  const closing = new AbortController();
  const parts: RunnerParts = {
    ...options,
    maskOf: createMaskCache(),
    toldVariables: new Set(),
    closing: closing.signal,
  };
  let running = 0;
  const idle = Promise.withResolvers<void>();
  const runnerOf = (own: RunnerParts): ToolRunner => ({
    async run(invocation, runOptions) {
      running += 1;
      try {
        return await traceRun(invocation, () => runMasked(own, invocation, runOptions));
      } finally {
        running -= 1;
        if (running === 0 && closing.signal.aborted) idle.resolve();
      }
    },
    async close() {
      closing.abort(new Error("the host is stopping"));
      await options.isolated.close(); // U4
      if (running > 0) await idle.promise;
    },
  });
  return { ...runnerOf(parts), resolving: (resolve) => runnerOf({ ...parts, resolve }) };
}

interface RunnerParts extends ToolRunnerOptions {
  readonly maskOf: (values: readonly string[]) => SecretMask;
  /** Which missing variables this host's log has. */
  readonly toldVariables: Set<string>;
  readonly closing: AbortSignal;
}

async function runMasked(
  options: RunnerParts,
  invocation: ToolInvocation,
  runOptions: RunOptions,
): Promise<ToolResultContent> {
  let found: ToolDefinition | null = null;
  let mask = NO_SECRETS;
  let end: RunEnd;
  try {
    const tool = options.resolve(invocation);
    // What was found decides: it may be the pinned definition, or that with what the host itself has to say.
    const definition = tool?.definition ?? invocation.definition ?? unknownDefinition(invocation);
    toolPolicy(definition); // one that cannot be read throws here
    found = definition;
    const { values, warnings } = resolveEnvs(definition, options.environment);
    for (const warning of warnings) options.onWarning(warning);
    mask = options.maskOf(Object.values(values));
    const run = prepareAndRun({ options, invocation, runOptions, tool, definition, values, mask });
    end = run instanceof Promise ? await run : run;
  } catch (thrown) {
    found ??= unknownDefinition(invocation);
    end = thrownEnd(thrown, invocation, toolPolicy(found).error_message_limit); // U1
  }
  tellFailure(end, { options, invocation, runOptions, mask });
  return contentOfEnd(end, {
    policy: toolPolicy(found),
    effect: invocation.effect,
    afterExecution: invocation.after_execution,
    toolCallId: invocation.tool_call_id,
    toolName: invocation.tool_name,
    mask,
  });
}

/** U5 */
function tellFailure(
  end: RunEnd,
  {
    options,
    invocation,
    runOptions,
    mask,
  }: {
    readonly options: RunnerParts;
    readonly invocation: ToolInvocation;
    readonly runOptions: RunOptions;
    readonly mask: SecretMask;
  },
): void {
  const failure = failureOfEnd(end, mask);
  if (failure === null) return;
  const { stack, isNew } = failure;
  const { project_id, tool_call_id, tool_name, attempt } = invocation;
  const { onLog } = runOptions;
  if (isNew && onLog !== undefined) {
    onLog({ level: "error", message: stack, project_id, tool_call_id, tool_name, attempt });
  } else if (isNew) {
    options.onWarning(`the tool ${tool_name} failed (call ${tool_call_id}, attempt ${attempt}): ${stack}`);
  }
  runOptions.onFailure?.({ stack });
}

function thrownEnd(thrown: unknown, { tool_call_id, tool_name }: ToolInvocation, messageLimit: number): RunEnd {
  const { error, detail } = describeThrown(thrown, messageLimit);
  const wire = detail === undefined ? {} : { wire: { detail } };
  return {
    kind: "executed",
    executed: { toolCallId: tool_call_id, toolName: tool_name, status: "error", error, ...wire },
    ...(TesseraError.is(thrown) ? {} : { failure: failureOf(thrown) }), // a refusal of ours says all there is to say
  };
}

interface Prepared {
  readonly options: RunnerParts;
  readonly invocation: ToolInvocation;
  readonly runOptions: RunOptions;
  readonly tool: RegisteredTool | null;
  readonly definition: ToolDefinition;
  readonly values: Readonly<Record<string, string>>;
  readonly mask: SecretMask;
}

function prepareAndRun(prepared: Prepared): RunEnd | Promise<RunEnd> {
  const { options, tool, definition, values, mask } = prepared;
  const { tool_name, tool_call_id, project_id, attempt } = prepared.invocation;
  if (tool === null || tool.code === null) {
    const isPinned = prepared.invocation.definition !== null;
    const code = isPinned ? "stale_tool_definition" : "E_TOOL_NOT_FOUND";
    const what = isPinned ? `code for the definition that ${tool_name} was called with` : `handler of ${tool_name}`;
    return { kind: "refused", code, message: `no ${what} is loaded here`, retryable: false };
  }
  const policy = toolPolicy(definition);
  const args = completeArguments(definition, prepared.invocation.arguments, values);
  const invocation = { ...prepared.invocation, arguments: args };
  const workdir = lazily(() => options.workspaces.workdirOf(invocation));
  const { signal, onLog: log, onProgress } = prepared.runOptions;
  const logger = lazily(() => {
    const sink = (entry: ToolLogEntry) => log?.({ ...entry, message: mask.text(entry.message) });
    return createCallLogger(sink, { project_id, tool_call_id, tool_name, attempt });
  });
  const progress = (update: ToolProgress) => onProgress?.(mask.value(update)); // U3
  const runtime = runtimeOf(prepared, workdir);
  const { code } = tool;
  if (code.kind === "function") {
    const { closing } = options;
    const onStray = (error: unknown) => {
      const what = `the tool ${tool_name} left an unhandled failure behind (call ${tool_call_id})`;
      options.onWarning(mask.text(`${what}: ${stackOf(error)}`)); // U3
    };
    const inline = { invocation, policy, signal, workdir, code, closing, logger, onProgress: progress, runtime };
    return runInline(options.clock, { ...inline, onStray });
  }
  const onLog = (level: ToolLogEntry["level"], message: string) => logger()[level](message);
  const hooks = { onLog, onProgress: progress, runtime };
  const where = { workdir: workdir(), entry: code.entry, export_name: code.export_name };
  return runIsolated(options, definition, { invocation, policy, signal, ...where, hooks }); // U2
}

async function runIsolated(
  { isolated, toldVariables }: RunnerParts,
  definition: ToolDefinition,
  call: Omit<IsolatedCall, "hooks"> & { readonly hooks: Omit<WorkerHooks, "onMissingVariable"> },
): Promise<RunEnd> {
  const { hooks } = call;
  const missing = createMissingVariables(definition, toldVariables);
  const onMissingVariable = (name: string) => {
    const said = missing.read(name);
    if (said?.isNew) hooks.onLog("warn", said.text);
    if (said !== null) hooks.onProgress({ message: said.text });
  };
  const end = await isolated.run({ ...call, hooks: { ...hooks, onMissingVariable } });
  return withSuggestion(end, missing.suggestion());
}

/** Beside what the tool itself suggests. */
function withSuggestion(end: RunEnd, more: string | null): RunEnd {
  if (more === null || end.kind !== "executed" || end.executed.error === undefined) return end;
  const { error } = end.executed;
  const suggestion = error.suggestion === undefined ? more : `${error.suggestion} ${more}`;
  return { ...end, executed: { ...end.executed, error: { ...error, suggestion } } };
}

function runtimeOf({ runOptions, mask }: Prepared, workdir: () => string): AgentToolRuntime | null {
  const runtime = runOptions.runtime ?? null;
  if (runtime === null) return null;
  return {
    request: (target, event, given) => runtime.request(mask.text(target), mask.value(event), mask.value(given)),
    send: (target, event) => runtime.send(mask.text(target), mask.value(event)),
    async spawn(target, given) {
      const options = mask.value(given ?? {});
      if (options.cwd === undefined) return await runtime.spawn(mask.text(target), options);
      const cwd = (await resolveInside(workdir(), String(options.cwd))).shown; // U6
      return await runtime.spawn(mask.text(target), { ...options, cwd });
    },
    list: (given) => runtime.list(given),
    catalog: () => runtime.catalog(),
  };
}

/** Made when it is first asked for, and then kept. */
function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/** For a call that names a tool unknown here: its refusal is built like any other end. */
function unknownDefinition({ tool_name, after_execution }: ToolInvocation): ToolDefinition {
  return {
    tool_name,
    description: "",
    parameters: {},
    target_subject: targetSubjectFor("unknown", "run"),
    after_execution,
    options: {},
  };
}
