// The service behind Tool/words: it asks for calls, says that it is alive while it works, and reports what came out.
// Nothing but Node is needed; the same four requests can be made in any language.
//
//   TESSERA_URL      where the API is (default http://127.0.0.1:8099)
//   TESSERA_API_KEY  a key that may take calls of the target `words`

import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { JsonObject } from "@tessera/tessera/tool";
import { handlers, type ServiceContext } from "./tools/words.ts";

const url = process.env.TESSERA_URL ?? "http://127.0.0.1:8099";
const key = process.env.TESSERA_API_KEY ?? "";
const project = process.env.TESSERA_PROJECT ?? "default";
const TARGET = "words";
const HEARTBEAT_MS = 5_000;

/** What of a claimed call is used here; the whole of it is ClaimedCall in the reference of the API. */
interface Call {
  readonly tool_call_id: string;
  readonly tool_name: string;
  readonly arguments: JsonObject;
  readonly attempt: number;
  readonly idempotency_key: string;
  readonly capability: string;
}

type Handler = (ctx: ServiceContext, input: JsonObject) => unknown;
const tools = new Map<string, Handler>(Object.entries(handlers).map(([name, handler]) => [`words__${name}`, handler]));

class Refused extends Error {
  readonly status: number;
  constructor(path: string, status: number, text: string) {
    super(`${path} was refused: ${status} ${text}`);
    this.status = status;
  }
}

async function post(path: string, body: object, headers: Record<string, string> = {}): Promise<unknown> {
  const answer = await fetch(`${url}/projects/${project}${path}`, {
    method: "POST",
    headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Refused(path, answer.status, text);
  return JSON.parse(text);
}

async function run(call: Call): Promise<void> {
  // The capability is the secret of this attempt: only its holder may report.
  const proof = { "CG-Report-Capability": call.capability };
  const heart = setInterval(() => {
    post(`/calls/${call.tool_call_id}/heartbeat`, {}, proof).catch((error: Error) => console.error(error.message));
  }, HEARTBEAT_MS);
  try {
    const report = await resultOf(call);
    await post(`/calls/${call.tool_call_id}/report`, report, proof);
    console.log(`${call.tool_name}: ${report.status}`);
  } finally {
    clearInterval(heart);
  }
}

async function resultOf(call: Call) {
  try {
    const tool = tools.get(call.tool_name);
    if (tool === undefined) throw new Error(`this service has no tool ${call.tool_name}`);
    const ctx = { logger: console, attempt: call.attempt, idempotencyKey: call.idempotency_key };
    return { status: "success", result: await tool(ctx, call.arguments) };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { status: "failed", error: { code: "internal_error", message, source: "tool", retryable: false } };
  }
}

let claimId = `claim_${randomUUID().replaceAll("-", "")}`;
console.log(`waiting for calls of ${TARGET} at ${url}`);
for (;;) {
  try {
    const body = { max: 1, wait_ms: 20_000, executor: "executor", claim_id: claimId };
    const { calls } = (await post(`/executors/${TARGET}/claim`, body)) as { calls: Call[] };
    claimId = `claim_${randomUUID().replaceAll("-", "")}`; // only after an answer: the same id is the same claim
    for (const call of calls) await run(call);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Refused && (error.status === 401 || error.status === 403)) {
      console.error(
        `${message}\nSet TESSERA_API_KEY to the key that \`tessera dev\` printed: with --data ./store it is in store/key.`,
      );
      process.exit(1);
    }
    console.error(`${message}; asking again`);
    await delay(1_000);
  }
}
