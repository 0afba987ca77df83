// The rules of a scripted model, read from a Model's options.
//
//   S1. A mistake names its place: `details.pointer` is a JSON pointer into the options, so that the reader of a
//       file can say line and column.
//   S2. Unknown fields are mistakes: a misspelt `when` would match everything.
//   S3. Rules come with uploaded profiles, and are run on untrusted text: their patterns are matched in linear time (the
//       catalog's pattern.ts), and all of them together cost no more than PATTERNS_SIZE_MAX for each character.

import { errorOf, isJsonObject, type JsonObject, type JsonValue, TesseraError } from "@tessera/protocol";
import { compilePattern, type Pattern } from "@tessera/tool/catalog";

export interface ScriptedWhen {
  readonly agent?: string;
  readonly step?: number;
  /** On the last user or tool message. */
  readonly text?: Pattern;
  /** The call whose result came last. */
  readonly tool?: string;
}

interface ScriptedToolCall {
  readonly name: string;
  /** Any JSON; a string is the raw text that the model wrote. */
  readonly arguments: JsonValue;
}

export interface ScriptedReply {
  readonly text: string;
  readonly toolCalls: readonly ScriptedToolCall[];
  readonly delayMs: number;
  readonly error?: string;
}

export interface ScriptedRule {
  readonly when: ScriptedWhen;
  readonly reply: ScriptedReply;
}

const RULES_MAX = 1_000;
const TOOL_CALLS_MAX = 1_000;
const DELAY_MS_MAX = 3_600_000;
/** Instructions of all patterns together (S3): 0.8 s for the longest text, measured. */
const PATTERNS_SIZE_MAX = 5_000;

/** Throws TesseraError E_CONFIG_SCHEMA_INVALID with `details.pointer` (S1). */
export function readScriptedRules(options: JsonObject | undefined): readonly ScriptedRule[] {
  const rules = options?.rules;
  if (!Array.isArray(rules) || rules.length === 0) {
    throw mistake("/rules", "a scripted model needs `rules`, a list of {when, reply}");
  }
  if (rules.length > RULES_MAX) throw mistake("/rules", `a scripted model has at most ${RULES_MAX} rules`);
  let size = 0;
  return rules.map((given, index) => {
    const rule = readRule(given, `/rules/${index}`);
    size += rule.when.text?.size ?? 0;
    if (size > PATTERNS_SIZE_MAX) {
      throw mistake(`/rules/${index}/when/text`, "with this one the patterns of all rules are too large together"); // S3
    }
    return rule;
  });
}

function readRule(given: JsonValue, at: string): ScriptedRule {
  const rule = fields(given, at, ["when", "reply"]);
  if (rule.reply === undefined) throw mistake(`${at}/reply`, "a rule needs a `reply`");
  return { when: readWhen(rule.when ?? {}, `${at}/when`), reply: readReply(rule.reply, `${at}/reply`) };
}

function readWhen(given: JsonValue, at: string): ScriptedWhen {
  const when = fields(given, at, ["agent", "step", "text", "tool"]);
  const agent = optionalText(when.agent, `${at}/agent`);
  const step = optionalCount(when.step, `${at}/step`, Number.MAX_SAFE_INTEGER);
  const pattern = optionalText(when.text, `${at}/text`);
  const tool = optionalText(when.tool, `${at}/tool`);
  return {
    ...(agent === undefined ? {} : { agent }),
    ...(step === undefined ? {} : { step }),
    ...(pattern === undefined ? {} : { text: readPattern(pattern, `${at}/text`) }),
    ...(tool === undefined ? {} : { tool }),
  };
}

function readReply(given: JsonValue, at: string): ScriptedReply {
  const reply = fields(given, at, ["text", "toolCalls", "delayMs", "error"]);
  const error = optionalText(reply.error, `${at}/error`);
  return {
    text: optionalText(reply.text, `${at}/text`) ?? "",
    toolCalls: readToolCalls(reply.toolCalls ?? [], `${at}/toolCalls`),
    delayMs: optionalCount(reply.delayMs, `${at}/delayMs`, DELAY_MS_MAX) ?? 0,
    ...(error === undefined ? {} : { error }),
  };
}

function readToolCalls(given: JsonValue, at: string): readonly ScriptedToolCall[] {
  if (!Array.isArray(given)) throw mistake(at, "`toolCalls` must be a list of {name, arguments}");
  if (given.length > TOOL_CALLS_MAX) throw mistake(at, `a reply has at most ${TOOL_CALLS_MAX} toolCalls`);
  return given.map((item, index) => {
    const call = fields(item, `${at}/${index}`, ["name", "arguments"]);
    const name = optionalText(call.name, `${at}/${index}/name`);
    if (name === undefined || name === "") throw mistake(`${at}/${index}/name`, "a call needs the `name` of a tool");
    return { name, arguments: call.arguments ?? {} };
  });
}

/** S3 */
function readPattern(pattern: string, at: string): Pattern {
  try {
    return compilePattern(pattern);
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw mistake(at, `\`text\` is not a regular expression that can be used: ${error.message}`);
  }
}

function fields(given: JsonValue, at: string, known: readonly string[]): JsonObject {
  const name = at.slice(at.lastIndexOf("/") + 1);
  if (!isJsonObject(given)) throw mistake(at, `\`${name}\` must be an object with ${known.join(", ")}`);
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue;
    const escaped = field.replaceAll("~", "~0").replaceAll("/", "~1");
    throw mistake(`${at}/${escaped}`, `\`${field}\` is not known here; known are ${known.join(", ")}`); // S2
  }
  return given;
}

function optionalText(value: JsonValue | undefined, at: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") return value;
  throw mistake(at, `must be text, not ${JSON.stringify(value).slice(0, 60)}; put it in quotes`);
}

function optionalCount(value: JsonValue | undefined, at: string, max: number): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= 0 && value <= max) return value;
  throw mistake(at, `must be a whole number from 0${max === Number.MAX_SAFE_INTEGER ? "" : ` to ${max}`}`);
}

function mistake(pointer: string, message: string) {
  return errorOf("E_CONFIG_SCHEMA_INVALID", `${pointer}: ${message}`, { details: { pointer } });
}
