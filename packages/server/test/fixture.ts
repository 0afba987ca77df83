// What the server's tests share: a store in memory, a kernel, one key of each kind, and a server on a free port. Time stands
// still unless a test moves it.

import { openMemoryBus } from "@tessera/engines/memory-bus";
import {
  type ApiKeyRequest,
  type Bus,
  type CallDraft,
  type Kernel,
  migrate,
  type OpenedCall,
  openKernel,
  SCHEMA_DIGEST,
} from "@tessera/kernel";
import { createTestDatabases, SeededIds, type TestDatabase, VirtualClock } from "@tessera/testkit";
import { isReservedToolName } from "@tessera/tool";
import { parseToolUpload } from "@tessera/tool/resources";
import type { InjectOptions } from "fastify";
import { afterAll, beforeAll } from "vitest";
import { openServer, type Server, type ServerOptions, type ToolDocuments } from "../src/index.ts";
import { checkAnswer } from "./answer-check.ts";

export const PROJECT = "p1";
export const OTHER = "p2";
export const SUBJECT = "cg.v1r4.p1.public.cmd.tool.echo.run";
export const V1R3_SUBJECT = "cg.v1r3.p1.public.cmd.tool.echo.run";

const toolDocuments: ToolDocuments = {
  parse: (bytes, source) => parseToolUpload(bytes, source),
  isReservedName: isReservedToolName,
};

/** Buckets that no test of something else can empty. */
const WIDE = { perSecond: 1, burst: 1_000_000 };
const WIDE_BYTES = { perSecond: 1, burst: 1_000_000_000 };
const wideLimits = {
  ...{ address: WIDE, key: WIDE, reportsPerKey: WIDE, heartbeatsPerCall: WIDE },
  ...{ bodyBytesPerKey: WIDE_BYTES, bodyBytesPerProject: WIDE_BYTES },
};

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  // biome-ignore lint/suspicious/noExplicitAny: a body is read field by field by the test that expects it
  readonly body: any;
  readonly text: string;
}

export interface Call {
  readonly tool_call_id: string;
  readonly ticket: string;
  readonly agent_id: string;
  readonly agent_turn_id: string;
  readonly turn_epoch: number;
  readonly step_id: string;
}

export interface RequestOptions {
  readonly key?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly payload?: string | Buffer;
}

export class ServerFixture {
  readonly clock = new VirtualClock();
  readonly ids = new SeededIds(7);
  readonly warnings: string[] = [];
  store!: TestDatabase;
  bus!: Bus;
  kernel!: Kernel;
  server!: Server;
  /** Texts of keys by name. */
  readonly keys: Record<string, string> = {};
  readonly keyIds: Record<string, string> = {};

  async open(): Promise<void> {
    const { clock, ids } = this;
    const databases = createTestDatabases({
      engine: "pglite",
      prepare: async (database) => void (await migrate(database)),
      digest: `kernel-${SCHEMA_DIGEST}`,
    });
    this.store = await databases.open();
    this.bus = await openMemoryBus({});
    this.kernel = openKernel({ database: this.store.database, bus: this.bus, clock, ids });
    await this.kernel.putProject({ project_id: PROJECT });
    await this.kernel.putProject({ project_id: OTHER });
    await this.key("viewer", { role: "viewer", project_id: PROJECT });
    await this.key("operator", { role: "operator", project_id: PROJECT });
    await this.key("executor", { role: "executor", project_id: PROJECT, targets: ["echo"] });
    await this.key("executor2", { role: "executor", project_id: PROJECT, targets: ["echo"] });
    await this.key("stranger", { role: "executor", project_id: PROJECT, targets: ["search"] });
    await this.key("admin", { role: "admin" });
    this.server = await this.another();
  }

  async key(name: string, request: ApiKeyRequest): Promise<string> {
    const made = await this.kernel.createApiKey(request);
    if (made.outcome === "rejected") throw new Error(made.code);
    this.keys[name] = made.text;
    this.keyIds[name] = made.key_id;
    return made.text;
  }

  another(options: Partial<ServerOptions> = {}): Promise<Server> {
    return openServer({
      kernel: this.kernel,
      tools: toolDocuments,
      bus: this.bus,
      clock: this.clock,
      ids: this.ids,
      listen: { host: "127.0.0.1", port: 0 },
      onWarning: (warning) => this.warnings.push(warning),
      ...options,
      limits: { ...wideLimits, ...options.limits },
    });
  }

  async close(): Promise<void> {
    await this.server.close();
    await this.bus.close();
    await this.store.close();
  }

  /** Sends a request without a socket. `key` is the name of a key, or a text that starts with "Bearer". */
  async send(method: string, url: string, options: RequestOptions = {}, server = this.server): Promise<Answer> {
    const { key, headers = {}, json, payload } = options;
    const authorization = key === undefined ? {} : { authorization: this.keys[key] ? `Bearer ${this.keys[key]}` : key };
    const body = json === undefined ? payload : JSON.stringify(json);
    const response = await server.app.inject({
      method: method as NonNullable<InjectOptions["method"]>,
      url,
      headers: { ...authorization, ...(json === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(body === undefined ? {} : { payload: body }),
    });
    const isJson = String(response.headers["content-type"] ?? "").includes("json");
    if (isJson)
      checkAnswer(server.routes, { method, url, status: response.statusCode, body: JSON.parse(response.body) });
    return {
      status: response.statusCode,
      headers: response.headers,
      body: isJson ? JSON.parse(response.body) : null,
      text: response.body,
    };
  }

  /** A turn that waits for calls. */
  async suspended(drafts: readonly Partial<CallDraft>[] = [{}]): Promise<Call[]> {
    const { kernel, ids } = this;
    const agent_id = ids.mint("agent");
    const worker_id = ids.mint("worker");
    const box_id = ids.mint("box");
    await kernel.putBox({ project_id: PROJECT, box_id });
    await kernel.putAgent({ project_id: PROJECT, agent_id, worker_target: "workers", profile_box_id: box_id });
    await kernel.renewWorker({ worker_id, worker_target: "workers" });
    await kernel.enqueueTurn({ project_id: PROJECT, agent_id });
    const turn = await kernel.resume({ project_id: PROJECT, agent_id, worker_id });
    if (turn.outcome !== "accepted") throw new Error(JSON.stringify(turn));
    const { agent_turn_id, turn_epoch } = turn;
    const step_id = ids.mint("step");
    const step = await kernel.suspendOnCalls({
      project_id: PROJECT,
      agent_id,
      agent_turn_id,
      turn_epoch,
      step_id,
      thought: { content: { text: "thinking" } },
      calls: drafts.map((draft) => ({
        tool_call_id: ids.mint("tc"),
        tool_name: "echo__run",
        arguments: { text: "hello" },
        target_subject: SUBJECT,
        author_id: "tool.echo",
        ...draft,
      })),
    });
    if (step.outcome === "rejected") throw new Error(step.code);
    return step.calls.map(({ tool_call_id, ticket }) => ({
      tool_call_id,
      ticket: ticket ?? "",
      agent_id,
      agent_turn_id,
      turn_epoch,
      step_id,
    }));
  }

  /** A call that the key `executor` (or another) holds. */
  async held(
    draft: Partial<CallDraft> = {},
    key = "executor",
  ): Promise<Call & { opened: OpenedCall & { headers: Record<string, string> } }> {
    const [call] = await this.suspended([draft]);
    if (call === undefined) throw new Error("no call");
    const opened = await this.send("POST", `/projects/${PROJECT}/calls/${call.tool_call_id}/open`, {
      key,
      headers: { "cg-call-ticket": call.ticket },
      json: { executor: "e1" },
    });
    if (opened.status !== 200) throw new Error(opened.text);
    return { ...call, opened: opened.body };
  }

  /** A request about a call, with its capability. */
  about(
    call: { tool_call_id: string; opened?: { capability: string } },
    action: string,
    json: unknown,
    options: { key?: string; capability?: string | null; headers?: Readonly<Record<string, string>> } = {},
  ): Promise<Answer> {
    const capability = options.capability === undefined ? call.opened?.capability : options.capability;
    return this.send("POST", `/projects/${PROJECT}/calls/${call.tool_call_id}/${action}`, {
      key: options.key ?? "executor",
      headers: {
        ...(capability === null || capability === undefined ? {} : { "cg-report-capability": capability }),
        ...options.headers,
      },
      json,
    });
  }

  /** A digest of every row of every table, without the audit and without when keys were used. */
  async everything(): Promise<string> {
    const tables = await this.store.database.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables
        where schemaname in ('card', 'resource', 'state') and tablename not in ('audit_log', 'api_keys') order by 1`,
    );
    const parts: string[] = [];
    for (const { name } of tables) {
      const rows = await this.store.database.query(
        `select md5(string_agg(t::text, ',' order by t::text)) as d from ${name} t`,
      );
      parts.push(`${name}:${rows[0]?.d}`);
    }
    return parts.join("\n");
  }
}

/** What no answer may hold: a place in our code, SQL, a driver's words. */
export const LEAK = /\bat .*\.[jt]s:\d|\bselect .* from\b|\binsert into\b|\bl0\.|sqlstate|node_modules/i;

/** What the request cost this process. CPU time and not the clock's: the store is in this process, and the machine may be busy. */
export async function timed<T>(ask: () => Promise<T>): Promise<{ answer: T; cpuMs: number }> {
  const before = process.cpuUsage();
  const answer = await ask();
  const { user, system } = process.cpuUsage(before);
  return { answer, cpuMs: (user + system) / 1_000 };
}

export function useServer(): ServerFixture {
  const fixture = new ServerFixture();
  beforeAll(() => fixture.open());
  afterAll(() => fixture.close());
  return fixture;
}
