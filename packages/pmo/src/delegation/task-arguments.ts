// The arguments of delegate_async, launch_principal, ask_expert and fork_join (docs/protocol/internal-tools.md#arguments).

import { FAN_OUT_MAX, FORK_JOIN_DEADLINE_MS } from "@tessera/protocol";
import { type ArgumentReader, NAME_CHARS_MAX, readArguments } from "../argument-reader.ts";

const TARGET_STRATEGIES = ["new", "reuse", "clone"] as const;
type TargetStrategy = (typeof TARGET_STRATEGIES)[number];

/** One piece of work for one agent. */
export interface TaskArguments {
  readonly target_strategy: TargetStrategy;
  /** A profile's name for `new`, an agent's id for the others. */
  readonly target_ref: string;
  readonly instruction: string;
  readonly context_box_id?: string;
  /** Hand over the caller's own output box. */
  readonly include_history?: boolean;
}

export interface ForkJoinArguments {
  readonly tasks: readonly TaskArguments[];
  readonly fail_fast: boolean;
  readonly deadline_ms: number;
}

const TASK_FIELDS = ["target_strategy", "target_ref", "instruction", "context_box_id"];
const DEADLINE_SECONDS_MAX = 86_400;

export function delegateArguments(given: unknown): TaskArguments {
  return taskOf(readArguments("delegate_async", given, TASK_FIELDS));
}

export function launchArguments(given: unknown): TaskArguments {
  const args = readArguments("launch_principal", given, ["profile_name", "instruction"]);
  return {
    target_strategy: "new",
    target_ref: args.text("profile_name", NAME_CHARS_MAX),
    instruction: args.text("instruction"),
  };
}

export function askArguments(given: unknown): TaskArguments {
  const args = readArguments("ask_expert", given, ["expert_profile", "question", "include_history"]);
  return {
    target_strategy: "new",
    target_ref: args.text("expert_profile", NAME_CHARS_MAX),
    instruction: args.text("question"),
    include_history: args.flag("include_history"),
  };
}

export function forkJoinArguments(given: unknown, caller: { readonly agent_id: string }): ForkJoinArguments {
  const args = readArguments("fork_join", given, ["tasks", "fail_fast", "deadline_seconds"]);
  const list = args.value("tasks");
  if (!Array.isArray(list)) return args.refuse("tasks", "must be a list");
  if (list.length < 1 || list.length > FAN_OUT_MAX) {
    args.refuse("tasks", `must hold 1 to ${FAN_OUT_MAX} tasks (got ${list.length}, max ${FAN_OUT_MAX})`);
  }
  const reused = new Set<string>();
  const tasks = list.map((item, index) => {
    const reader = readArguments("fork_join", item, TASK_FIELDS, `args.tasks[${index}]`);
    const task = taskOf(reader);
    if (task.target_strategy === "reuse") {
      // The caller waits for the batch and could never take the task; one agent cannot work on two tasks at once.
      if (task.target_ref === caller.agent_id) reader.refuse("target_ref", "is the calling agent itself");
      if (reused.has(task.target_ref)) reader.refuse("target_ref", "another task reuses the same agent");
      reused.add(task.target_ref);
    }
    return task;
  });
  return { tasks, fail_fast: args.flag("fail_fast"), deadline_ms: deadlineOf(args) };
}

function taskOf(args: ArgumentReader): TaskArguments {
  const context_box_id = args.optionalId("context_box_id");
  return {
    target_strategy: args.choice("target_strategy", TARGET_STRATEGIES),
    target_ref: args.text("target_ref", NAME_CHARS_MAX),
    instruction: args.text("instruction"),
    ...(context_box_id === undefined ? {} : { context_box_id }),
  };
}

function deadlineOf(args: ArgumentReader): number {
  const seconds = args.value("deadline_seconds");
  if (seconds === undefined) return FORK_JOIN_DEADLINE_MS;
  const isUsable = typeof seconds === "number" && seconds > 0 && seconds <= DEADLINE_SECONDS_MAX;
  if (!isUsable) return args.refuse("deadline_seconds", `must be a number above 0 and up to ${DEADLINE_SECONDS_MAX}`);
  return Math.ceil(seconds * 1_000);
}
