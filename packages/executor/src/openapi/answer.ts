// What an answer of a third party becomes: a tool's output, or the error that its call failed with.
//
//   A1. A body cannot steer an agent: `__cg_control` is taken from the top level of the output, whichever way it got there.
//   A2. JSON passes the gate or is kept as text; no body makes a result that cannot be stored.
//   A3. Everything passes the mask last, so that a server that repeats its request discloses no secret.
//   A4. A 4xx is the caller's fault (`bad_request`); every other failure is the server's (`upstream_unavailable`).

import {
  BadRequest,
  cutMessage,
  emptyJsonObject,
  isJsonObject,
  JSON_DEPTH_MAX,
  type JsonObject,
  type JsonValue,
  parseJson,
  stripCgControl,
  type TesseraError,
  TRUNCATION_MARKER,
  UpstreamUnavailable,
} from "@tessera/protocol";
import type { HttpAnswer } from "../net/http-call.ts";
import type { SecretMask } from "../secrets/secret-mask.ts";

/** Less than a card holds, because text grows when it is written as JSON. */
export const ANSWER_BYTES_MAX = 640 * 1024;
const DETAILS_CHARS_MAX = 2_000;

export interface AnswerReader {
  readonly tool_name: string;
  readonly tool_call_id: string;
  readonly mask: SecretMask;
  /** A body with something under this key is a failure whatever its status; null: no key means that. */
  readonly errorKey: string | null;
}

/** The output of the tool, or the error, thrown. */
export function readAnswer(answer: HttpAnswer, reader: AnswerReader): JsonObject {
  const body = readBody(answer);
  if (answer.status < 200 || answer.status > 299) throw failure(answer, body, reader, `HTTP status ${answer.status}`);
  if (isJsonObject(body) && reader.errorKey !== null && (body[reader.errorKey] ?? null) !== null) {
    throw failure(answer, body[reader.errorKey] as JsonValue, reader, `an error in its body`);
  }
  const output: JsonObject = Object.assign(emptyJsonObject(), isJsonObject(body) ? body : { value: body });
  if (!Object.hasOwn(output, "latency_ms")) output.latency_ms = answer.durationMs;
  return stripCgControl(reader.mask.value(output)); // A1, A3: a masked key cannot become the control key
}

/** The detail that every failure of an exchange carries. */
export function failureDetails(
  reader: Pick<AnswerReader, "tool_name" | "tool_call_id" | "mask">,
  status_code: number | null,
  details: string,
): JsonObject {
  return {
    status_code,
    details: reader.mask.text(cutMessage(details, DETAILS_CHARS_MAX)),
    tool_name: reader.tool_name,
    tool_call_id: reader.tool_call_id,
  };
}

function failure(answer: HttpAnswer, body: JsonValue, reader: AnswerReader, what: string): TesseraError {
  const text = isJsonObject(body) && typeof body.data === "string" && !isJson(answer) ? body.data : body;
  const details = typeof text === "string" ? text : JSON.stringify(text);
  const message = `${new URL(answer.url).host} answered with ${what}`;
  const options = { details: failureDetails(reader, answer.status, details) };
  const isOurs = answer.status >= 400 && answer.status <= 499;
  return isOurs ? new BadRequest(message, options) : new UpstreamUnavailable(message, options); // A4
}

/** An object for everything that is not JSON; JSON as it is (A2). */
function readBody(answer: HttpAnswer): JsonValue {
  if (isJson(answer) && !answer.truncated) {
    try {
      // Two levels are left for what is put around it.
      return parseJson(answer.body, { bytesMax: ANSWER_BYTES_MAX, depthMax: JSON_DEPTH_MAX - 2 });
    } catch {
      // Not JSON after all, or JSON that no card can hold (a number beyond 2^53, a NUL): the model gets the text.
    }
  }
  if (!isText(answer)) {
    return { data: null, content_type: mediaType(answer), body_bytes: answer.body.byteLength };
  }
  const text = decode(answer).replaceAll("\0", "\ufffd");
  // The marker says that there was more, and lets the mask see that a secret may have been cut in two.
  return answer.truncated ? { data: text + TRUNCATION_MARKER, truncated: true } : { data: text };
}

function decode(answer: HttpAnswer): string {
  const charset = /;\s*charset\s*=\s*"?([\w.:-]{1,40})/i.exec(answer.headers["content-type"] ?? "")?.[1] ?? "utf-8";
  try {
    return new TextDecoder(charset).decode(answer.body);
  } catch {
    return new TextDecoder().decode(answer.body); // An unknown charset.
  }
}

function mediaType(answer: HttpAnswer): string {
  return (answer.headers["content-type"] ?? "").split(";", 1)[0]?.trim().toLowerCase().slice(0, 100) ?? "";
}

function isJson(answer: HttpAnswer): boolean {
  return /^(?:application|text)\/(?:[\w.+-]+\+)?json$/.test(mediaType(answer));
}

function isText(answer: HttpAnswer): boolean {
  const type = mediaType(answer);
  if (type === "" || type.startsWith("text/") || isJson(answer)) return true;
  return /^application\/(?:[\w.+-]+\+)?(?:xml|yaml|x-yaml|javascript|x-ndjson|jsonl|json-seq|x-www-form-urlencoded)$/.test(
    type,
  );
}
