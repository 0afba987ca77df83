// The HTTP API under damaged traffic: every operation, over real sockets. Whatever comes, there is an answer within a second,
// a refusal is a problem document and changes no row, and the process goes on.

import { verifyStore } from "@tessera/kernel";
import { ERROR_MESSAGE_CHARS_MAX, isErrorCode } from "@tessera/protocol";
import { describeRoutes, type RouteSpec, type Server } from "@tessera/server";
import { waitFor } from "@tessera/testkit";
import fc from "fast-check";
import { afterAll, beforeAll, expect } from "vitest";
import { ManagementFixture } from "../../packages/server/test/management-fixture.ts";
import { type ApiDeps, type ApiExample, agentsOf, exampleOf, makeApiWorld } from "./api-traffic.ts";
import { damagedBytes, damagedText } from "./damaged-text.ts";
import { damagedJsonText } from "./damaged-values.ts";
import { ANSWER_MS_MAX, fuzzSuite } from "./fuzz-run.ts";
import { hostileText } from "./hostile-values.ts";
import { changedTables, rowsDigest } from "./rows-digest.ts";
import { exchange, requestBytes, type WireAnswer, type WireRequest } from "./wire-client.ts";

const fuzz = fuzzSuite("http");
const fx = new ManagementFixture();
let server: Server;
let world: ApiDeps;
let port = 0;
let rows = "";

beforeAll(async () => {
  await fx.open();
  server = await fx.another({ ports: { ...fx.ports(), agents: agentsOf(fx) } });
  port = Number(new URL(server.url).port);
  world = await makeApiWorld(fx);
  rows = await rowsDigest(fx.store.database);
});
afterAll(async () => {
  await server.close();
  await fx.close();
});

/** Of each operation; those with a body take more. */
const INPUTS = 6;
const INPUTS_WITH_BODY = 14;
const RAW_INPUTS = 120;
/** Operations that may wait for something, by the server's clock, which stands still here. */
const WAITING = new Set(["claimCalls", "callTool", "callRuntime", "godCallPmo"]);
const WAIT_STEP_MS = 30_000;
const WAIT_STEPS_MAX = 40;
/** 501: a part that this server was not given; 503: the store, or too much at once. */
const SERVER_FAULTS = new Set([501, 503]);

/** No refusal: the call was committed, and is told not to have been answered in time. */
const LATE = /"error_code":"tool_timeout"/;

const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "get", "FOO", "PROPFIND"];
const HEADER_NAMES = [
  ...["Authorization", "Content-Type", "Host", "Origin", "Accept", "If-Match", "If-None-Match", "Idempotency-Key"],
  ...["CG-Call-Ticket", "CG-Report-Capability", "Last-Event-ID", "Content-Encoding", "Expect", "Range", "Cookie"],
  ...["X-HTTP-Method-Override", "X-Forwarded-Host", "traceparent", "Upgrade", "TE", "__proto__", "x".repeat(300)],
];
const HEADER_VALUES = [
  ...["", "*", "null", '"x"', "W/", "0", "-1", "1e9", "99999999999999999999", "Bearer", "Bearer tsk_x", "Basic YTpi"],
  ...["application/json; charset=utf-16", "application/json, text/plain", "multipart/form-data", "text/plain", "gzip"],
  ...[
    "multipart/form-data; boundary=x",
    "100-continue",
    "websocket",
    "https://evil.example",
    "evil.example",
    "bytes=0-",
  ],
];

/** As a header line can carry it: one line of latin-1. */
const oneLine = (text: string) => text.replace(/[^\t\x20-\x7e\xa0-\xff]/g, "?").slice(0, 4_000);
/** As a request line can carry it. */
const inTarget = (text: string) =>
  text
    .slice(0, 3_000)
    .toWellFormed()
    .replace(/[^\x21-\x7e]/gu, encodeURIComponent) || "/";

const headerValue = fc.oneof(fc.constantFrom(...HEADER_VALUES), hostileText).map(oneLine);

interface Damage {
  readonly parts: readonly string[];
  readonly method: string;
  readonly target: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: readonly (readonly [string, string])[];
  readonly dropped: number;
  readonly body: string | Uint8Array;
}

function damageOf(route: RouteSpec, example: ApiExample): fc.Arbitrary<Damage> {
  const names = [...Object.keys(route.query ?? {}), "limit", "cursor", "sort", "__proto__"];
  const bodies = [
    ...(example.json === undefined ? [] : [damagedJsonText(example.json), damagedJsonText(example.json)]),
    damagedBytes(typeof example.body === "string" ? example.body : "{}"),
  ];
  const own = example.body === null ? ["target", "query"] : ["body", "body"];
  return fc.record({
    parts: fc.array(fc.constantFrom(...own, "method", "target", "query", "headers", "body"), {
      minLength: 1,
      maxLength: 2,
    }),
    method: fc.constantFrom(...METHODS),
    target: damagedText(example.target).map(inTarget),
    query: fc.array(
      fc.tuple(
        fc.constantFrom(...names),
        hostileText.map((text) => encodeURIComponent(text.slice(0, 500).toWellFormed())),
      ),
      { minLength: 1, maxLength: 3 },
    ),
    headers: fc.array(fc.tuple(fc.constantFrom(...HEADER_NAMES), headerValue), { minLength: 1, maxLength: 3 }),
    dropped: fc.nat(8),
    body: fc.oneof(...bodies),
  });
}

function damaged(example: ApiExample, damage: Damage): WireRequest {
  const has = (part: string) => damage.parts.includes(part);
  const query = has("query") ? `?${damage.query.map(([name, value]) => `${name}=${value}`).join("&")}` : "";
  const kept = example.headers.filter((_, n) => n !== damage.dropped);
  return {
    method: has("method") ? damage.method : example.method,
    target: `${has("target") ? damage.target : example.target}${query}`,
    headers: has("headers") ? [...kept, ...damage.headers] : example.headers,
    body: has("body") ? damage.body : example.body,
  };
}

/** The answer; where an operation waits, time is moved until it does not. */
async function answerTo(route: RouteSpec, request: WireRequest): Promise<WireAnswer | null> {
  const sent = exchange(port, requestBytes(request), request.method === "HEAD");
  const late = async (): Promise<WireAnswer | null> => {
    for (let step = 0; step < WAIT_STEPS_MAX; step += 1) {
      const answer = await Promise.race([sent.answer, pause(step === 0 ? 60 : 20)]);
      if (answer !== "late") return answer === null ? null : { ...answer, ms: 0 };
      await fx.clock.advance(WAIT_STEP_MS);
    }
    throw new Error(`${route.id} waits for ever`);
  };
  const answer = WAITING.has(route.id) ? await late() : await Promise.race([sent.answer, pause(5 * ANSWER_MS_MAX)]);
  sent.destroy();
  if (answer === "late") throw new Error(`${route.id} was not answered`);
  return answer;
}

function pause(ms: number): Promise<"late"> {
  return new Promise((resolve) => {
    setTimeout(() => resolve("late"), ms);
  });
}

async function expectAnswer(target: string, answer: WireAnswer | null, isHead: boolean): Promise<void> {
  if (answer === null) throw new Error("the connection ended without an answer");
  const { status, type, text } = answer;
  fuzz.note(target, String(status));
  expect(status < 500 || SERVER_FAULTS.has(status), `${status} ${text}`).toBe(true);
  const earlier = rows;
  rows = await rowsDigest(fx.store.database);
  if (status < 400) return;
  if (!LATE.test(text))
    expect(changedTables(earlier, rows), `changed by a request that was answered ${status} ${text}`).toEqual([]);
  if (!isHead) expectProblem(status, type, text);
}

function expectProblem(status: number, type: string, text: string): void {
  expect(type).toMatch(/^application\/problem\+json/);
  const problem = JSON.parse(Buffer.from(text, "latin1").toString()) as Record<string, unknown>;
  expect(problem.status).toBe(status);
  expect(isErrorCode(String(problem.error_code)), text).toBe(true);
  expect(String(problem.error_message).length).toBeLessThanOrEqual(ERROR_MESSAGE_CHARS_MAX);
  expect(problem.request_id).toMatch(/^req_/);
  expect(text).not.toMatch(/\bat .*\.ts:\d|\bl0\.|select .* from /);
}

const ROUTES = await describeRoutes();
for (const route of ROUTES) {
  const title = `${route.method} ${route.path} (${route.id})`;
  const example = () => exampleOf(route, world, fx.keys[route.tag === "executors" ? "executor" : "admin"] ?? "");
  const inputs = fc.constant(null).chain(() => damageOf(route, example()));
  fuzz.target(title, route.body === undefined ? INPUTS : INPUTS_WITH_BODY, inputs, async (damage) => {
    const request = damaged(example(), damage);
    let answer = await answerTo(route, request);
    // A pause of the machine does not repeat; a slow answer does.
    if (answer !== null && answer.ms >= ANSWER_MS_MAX) {
      rows = await rowsDigest(fx.store.database);
      answer = await answerTo(route, request);
    }
    expect(answer?.ms ?? 0).toBeLessThan(ANSWER_MS_MAX);
    await expectAnswer(title, answer, request.method === "HEAD");
  });
}

const RAW = "bytes that are hardly HTTP";
const raw = fc.constant(null).chain(() => {
  const routes = ROUTES.filter(({ id }) => !WAITING.has(id) && id !== "streamEvents");
  const lies = fc.constantFrom(
    "Content-Length: 5",
    "Content-Length: -1",
    "Transfer-Encoding: chunked",
    "Content-Length: 1e9",
    "",
  );
  return fc.tuple(fc.constantFrom(...routes), lies, fc.boolean()).chain(([route, lie, isBytes]) => {
    const whole = requestBytes(exampleOf(route, world, fx.keys.viewer ?? "")).toString("latin1");
    const text = lie === "" ? whole : whole.replace("\r\n", `\r\n${lie}\r\n`);
    return isBytes ? damagedBytes(text) : damagedText(text).map((each) => Buffer.from(each, "latin1"));
  });
});
fuzz.target(RAW, RAW_INPUTS, raw, async (bytes) => {
  const sent = exchange(port, bytes);
  const first = await Promise.race([sent.answer, pause(20)]);
  // Silence may mean that the server waits for more, which it may for a while (H18); it is told that nothing comes.
  sent.end();
  const answer = first === "late" ? await Promise.race([sent.answer, pause(ANSWER_MS_MAX)]) : first;
  fuzz.note(RAW, answer === null || answer === "late" ? "closed" : String(answer.status));
  if (answer !== null && answer !== "late") {
    expect(answer.status < 500 || SERVER_FAULTS.has(answer.status), answer.text).toBe(true);
    if (answer.status >= 400) expectProblem(answer.status, answer.type, answer.text);
  }
  sent.destroy();
  await sent.closed;
  const earlier = rows;
  rows = await rowsDigest(fx.store.database);
  if (answer === null || answer === "late" || answer.status >= 400) expect(changedTables(earlier, rows)).toEqual([]);
});

fuzz.target("after all of it the process answers", 1, fc.constant(null), async () => {
  await waitFor(async () => (await fetch(`${server.url}/health/live`)).ok, { what: "a live server" });
  // No sweep runs here, so what is overdue stays so.
  const report = await verifyStore(fx.store.database, { only: "safety" });
  expect(report.violations).toEqual([]);
  expect(fx.warnings.filter((warning) => /TypeError|RangeError|ReferenceError/.test(warning))).toEqual([]);
});
