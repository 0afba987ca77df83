// `provider: scripted`: a deterministic model written as rules, for quick starts and tests.
//
//   D1. The first rule that matches answers; the same call gets the same answer, always.
//   D2. Call ids are not given: the loop mints them.
//   D3. No matching rule is an error that shows the message it could not answer and the rules there are.
//   D4. It streams in several chunks, and its delay runs on the Clock, like a real model's.
//   D5. What is wrong with the script is a mistake of configuration, with the model and the rule as the file counts them
//       (`rules[0]` is the first): no key and no endpoint would help. Only a reply that is an error is a failure of the model.
//   D6. A reply that asks a result for what it does not have is answered with the result: it may be the failure of the tool.

import type { Clock } from "@tessera/kernel/ports";
import { type ErrorCode, errorOf, type JsonObject, TesseraError } from "@tessera/protocol";
import type { ModelAnswer, ModelCall, ModelChunk } from "../model-port.ts";
import { readCallSettings } from "./call-settings.ts";
import { canceled, pause } from "./pause.ts";
import { costOf } from "./read-answer.ts";
import { readScriptedRules, type ScriptedReply, type ScriptedRule, type ScriptedWhen } from "./scripted-rules.ts";
import { fillText, fillValue, NoValue } from "./scripted-template.ts";
import { readTranscript, type TranscriptView } from "./transcript-view.ts";

/** What patterns are run on is untrusted text. */
const MATCHED_CHARS_MAX = 16_384;
const CHUNK_CHARS_MIN = 12;
/** A long text comes in bigger pieces: chunks are messages on the bus. */
const TEXT_CHUNKS_MAX = 256;
const SHOWN_MAX = { messageChars: 300, resultChars: 300, rules: 12 };
/** Good enough to see usage and cost without a tokenizer. */
const CHARS_PER_TOKEN = 4;

export async function askScripted(
  call: ModelCall,
  onChunk: (chunk: ModelChunk) => void,
  clock: Clock,
): Promise<ModelAnswer> {
  if (call.signal.aborted) throw canceled();
  const transcript = readTranscript(call.messages);
  const rules = rulesOf(call);
  const index = rules.findIndex((rule) => matches(rule.when, call, transcript)); // D1
  const rule = rules[index];
  if (rule === undefined) throw unanswered(call, transcript, rules);
  const filled = fill(rule.reply, index, call, transcript);
  if (rule.reply.delayMs > 0) await pause(clock, rule.reply.delayMs, call.signal);
  if (filled.error !== undefined) throw failed(call, `failed as rules[${index}] says: ${filled.error}`);
  for (const chunk of chunksOf(filled)) {
    if (call.signal.aborted) throw canceled();
    onChunk(chunk); // D4
    await Promise.resolve();
  }
  return answerOf(call, transcript, filled);
}

interface FilledReply {
  readonly text: string;
  readonly toolCalls: ModelAnswer["tool_calls"];
  readonly error?: string;
}

/** By the options that they were read from, which a turn keeps for all of its steps: compiling patterns takes longer than
 *  matching them. */
const READ = new WeakMap<JsonObject, readonly ScriptedRule[]>();

function rulesOf(call: ModelCall): readonly ScriptedRule[] {
  const { options } = call.model;
  const known = options === undefined ? undefined : READ.get(options);
  if (known !== undefined) return known;
  try {
    const rules = readScriptedRules(options);
    if (options !== undefined) READ.set(options, rules);
    return rules;
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw mistaken(call, `cannot be used: ${error.message}`);
  }
}

function matches(when: ScriptedWhen, call: ModelCall, transcript: TranscriptView): boolean {
  if (when.agent !== undefined && when.agent !== call.agentName) return false;
  if (when.step !== undefined && when.step !== call.step) return false;
  if (when.tool !== undefined && when.tool !== transcript.lastTool) return false;
  return when.text === undefined || when.text.test(transcript.lastText.slice(0, MATCHED_CHARS_MAX));
}

function fill(reply: ScriptedReply, index: number, call: ModelCall, transcript: TranscriptView): FilledReply {
  try {
    return {
      text: fillText(reply.text, transcript),
      toolCalls: reply.toolCalls.map(({ name, arguments: given }) => ({
        name,
        arguments: fillValue(given, transcript), // D2
      })),
      ...(reply.error === undefined ? {} : { error: fillText(reply.error, transcript) }),
    };
  } catch (error) {
    if (!(error instanceof NoValue)) throw error;
    const found = error.message.startsWith("{{result") ? lastResult(transcript) : ""; // D6
    throw mistaken(call, `has no value for ${error.message} in the reply of rules[${index}]${found}`);
  }
}

function lastResult({ result }: TranscriptView): string {
  if (result === undefined) return ": no tool has answered";
  const text = JSON.stringify(result);
  return `: the last result is ${text.slice(0, SHOWN_MAX.resultChars)}${text.length > SHOWN_MAX.resultChars ? "…" : ""}`;
}

/** Text in pieces that end at white space, then one chunk for each call. */
function* chunksOf({ text, toolCalls }: FilledReply): Generator<ModelChunk> {
  const charsMin = Math.max(CHUNK_CHARS_MIN, Math.ceil(text.length / TEXT_CHUNKS_MAX));
  let piece = "";
  for (const word of text.match(/\s*\S+|\s+$/g) ?? []) {
    piece += word;
    if (piece.length < charsMin) continue;
    yield { type: "content", text: piece };
    piece = "";
  }
  if (piece !== "") yield { type: "content", text: piece };
  for (const { name, arguments: given } of toolCalls) {
    yield { type: "tool_call", text: `${name} ${typeof given === "string" ? given : JSON.stringify(given)}` };
  }
}

function answerOf(call: ModelCall, transcript: TranscriptView, reply: FilledReply): ModelAnswer {
  const input = tokens(call.system.length + transcript.chars);
  const output = tokens(reply.text.length + (reply.toolCalls.length > 0 ? JSON.stringify(reply.toolCalls).length : 0));
  const usage = { input_tokens: input, output_tokens: output, total_tokens: input + output };
  const cost = costOf(usage, readCallSettings(call.model).pricing, undefined);
  return {
    text: reply.text,
    tool_calls: reply.toolCalls,
    finish_reason: reply.toolCalls.length > 0 ? "tool-calls" : "stop",
    usage,
    response_cost: cost,
    provider: call.model.provider,
    model: call.model.model,
  };
}

function tokens(chars: number): number {
  return Math.ceil(chars / CHARS_PER_TOKEN);
}

function unanswered(call: ModelCall, transcript: TranscriptView, rules: readonly ScriptedRule[]): TesseraError {
  const from = transcript.lastTool === undefined ? "user" : `tool ${transcript.lastTool}`;
  const shown = transcript.lastText.slice(0, SHOWN_MAX.messageChars);
  const cut = transcript.lastText.length > shown.length ? "…" : "";
  const list = rules.slice(0, SHOWN_MAX.rules).map((rule, index) => `rules[${index}] ${describe(rule.when)}`);
  const more = rules.length > SHOWN_MAX.rules ? `; and ${rules.length - SHOWN_MAX.rules} more` : "";
  return mistaken(
    call,
    `has no rule for agent ${call.agentName}, step ${call.step}, ${from} message ${JSON.stringify(shown + cut)}. ` +
      `There are ${list.join("; ")}${more}`, // D3
  );
}

function describe(when: ScriptedWhen): string {
  const parts = Object.entries(when).map(([name, value]) => `${name} ${String(value)}`);
  return parts.length === 0 ? "always" : parts.join(", ");
}

function failed(call: ModelCall, text: string): TesseraError {
  return scriptError("model_failed", call, text);
}

/** D5 */
function mistaken(call: ModelCall, text: string): TesseraError {
  return scriptError("E_CONFIG_SCHEMA_INVALID", call, text);
}

function scriptError(code: ErrorCode, { model: { provider, model } }: ModelCall, text: string): TesseraError {
  return errorOf(code, `the scripted model ${model} ${text}`, {
    details: { provider, model, retryable: false, attempts: 1 },
  });
}
