// A definition, read once: every default filled in, every number inside its bounds.
//
//   P1. One reader for all placements, so that a default cannot differ between them.
//   P2. A stored number that makes no sense counts as absent, and one beyond its bound as the bound: registration and
//       `defineTool` refuse them, and a definition of a stricter or older build must still run.

import {
  ATTEMPTS_MAX_DEFAULT,
  ERROR_MESSAGE_CHARS_MAX,
  parseTargetSubject,
  TOOL_EFFECT_DEFAULT,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
  TOOL_TIMEOUT_MS,
  type ToolEffect,
  type ToolPlacement,
} from "@tessera/protocol";
import type { ToolDefinition, ToolOptions, ToolPolicy } from "./definition.ts";

/** The pause before the second try of a failed run, where its tool says nothing. */
export const BACKOFF_MS_DEFAULT = 1_000;
/** The longest pause before a second try that a tool may ask for. */
export const BACKOFF_MS_MAX = 3_600_000;
/** A call that failed this often will not work the next time. */
export const ATTEMPTS_MAX_MAX = 100;
/** Seven days: the deadline of a call is kept in milliseconds in 31 bits. */
export const TIMEOUT_MS_MAX = 604_800_000;
/** A message is stored three times in a failed result, at up to six bytes a character. */
export const ERROR_MESSAGE_LIMIT_MAX = 10_000;

const PLACEMENT_DEFAULT: ToolPlacement = "service";

/** Definitions are not changed once they are read, and each is asked about several times per call. */
const policies = new WeakMap<ToolDefinition, ToolPolicy>();

/** The definition of a tool read once, with every default filled in. */
export function toolPolicy(definition: ToolDefinition): ToolPolicy {
  const known = policies.get(definition);
  if (known !== undefined) return known;
  const policy = readPolicy(definition);
  policies.set(definition, policy);
  return policy;
}

function readPolicy(definition: ToolDefinition): ToolPolicy {
  const { options } = definition;
  const { target } = parseTargetSubject(definition.target_subject);
  const resource = resourceOf(definition.tool_name, target);
  return {
    resource,
    target,
    author_id: `tool.${resource}`,
    placement: oneOf<ToolPlacement>(TOOL_PLACEMENTS, options.placement) ?? PLACEMENT_DEFAULT,
    effect: oneOf<ToolEffect>(TOOL_EFFECTS, options.effect) ?? TOOL_EFFECT_DEFAULT,
    attempts_max: bounded(options.retry?.max_attempts, ATTEMPTS_MAX_MAX) ?? ATTEMPTS_MAX_DEFAULT,
    backoff_ms:
      options.retry?.backoff === 0 ? 0 : (bounded(options.retry?.backoff, BACKOFF_MS_MAX) ?? BACKOFF_MS_DEFAULT),
    timeout_ms: timeoutOf(options),
    queue_timeout_ms: bounded(options.queueTimeoutMs, TIMEOUT_MS_MAX) ?? null,
    can_reconcile: options.reconcile === true,
    error_message_limit: bounded(options.errorMessageLimit, ERROR_MESSAGE_LIMIT_MAX) ?? ERROR_MESSAGE_CHARS_MAX,
  };
}

/** `weather` of `weather__forecast`. A target that is only known per call cannot sign a card, so the name does. */
function resourceOf(toolName: string, target: string): string {
  const [first = toolName, second] = toolName.split("__");
  if (second !== undefined) return first;
  return target.includes("{") ? toolName : target;
}

function timeoutOf(options: ToolOptions): number {
  const own = bounded(options.timeoutMs, TIMEOUT_MS_MAX);
  if (own !== undefined) return own;
  const seconds = [options.timeout_seconds, options.suspend_timeout_seconds].filter(isPositive);
  return bounded(Math.max(0, ...seconds) * 1_000, TIMEOUT_MS_MAX) ?? TOOL_TIMEOUT_MS;
}

/** A whole number from 1 to `max`, or undefined for what is no positive number at all (P2). */
function bounded(value: unknown, max: number): number | undefined {
  return isPositive(value) ? Math.min(Math.ceil(value), max) : undefined;
}

function isPositive(value: unknown): value is number {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}

function oneOf<T extends string>(values: readonly T[], value: unknown): T | undefined {
  return values.find((candidate) => candidate === value);
}
