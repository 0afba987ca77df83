// The Python examples when the API or NATS fails them: answers are lost, refused for a while, or never come.

import { type ChildProcess, spawn } from "node:child_process";
import { createServer } from "node:http";
import { type AddressInfo, connect, createServer as createTcpServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { type HostedProject, ToolWorld } from "./tool-world.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/python-executor");
const BUNDLE = `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: frail }
spec:
  placement: edge
  exports:
    - { name: echo, description: slow, effect: idempotent, parameters: { type: object } }
    - { name: nan, description: no JSON, effect: read, parameters: { type: object } }
    - { name: object, description: no JSON either, effect: read, parameters: { type: object } }
    - { name: key, description: JSON that is refused, effect: read, parameters: { type: object } }
`;
/** The example as it is, with tools of its own. */
const program = (name: string) => `
import sys
sys.path.insert(0, sys.argv.pop(1))
import tools
tools.TOOLS.update({
    "frail__echo": tools.slow_echo,
    "frail__nan": lambda call: {"value": float("nan")},
    "frail__object": lambda call: {"value": object()},
    "frail__key": lambda call: {"__proto__": 1},
})
import ${name}
${name}.main()
`;

/** What becomes of a request: a status of the proxy's own, never sent, sent with its answer lost, or passed on. */
type Fate = number | "unsent" | "lost" | "passed";

let world: ToolWorld;
let hosted: HostedProject;
let proxy: ReturnType<typeof createServer>;
/** Requests that the proxy has not answered. */
let pending = 0;
let fates: { readonly action: string; readonly fate: Fate }[];
let args: string[];
const running: ChildProcess[] = [];
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  world = await ToolWorld.open("postgres");
  hosted = await world.host({ bundle: world.bundle({ "tessera.yaml": BUNDLE }) });
  const api = await world.api();
  proxy = createServer(async (request, response) => {
    pending += 1;
    response.on("close", () => {
      pending -= 1;
    });
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const action = request.url?.split("/").at(-1) ?? "";
    const n = fates.findIndex((next) => next.action === action);
    const fate = (n < 0 ? undefined : fates.splice(n, 1)[0]?.fate) ?? "passed";
    if (typeof fate === "number") return void response.writeHead(fate).end("{}");
    if (fate === "unsent") return void request.socket.destroy();
    const headers = Object.fromEntries(
      ["authorization", "content-type", "cg-call-ticket", "cg-report-capability"].flatMap((name) =>
        typeof request.headers[name] === "string" ? [[name, request.headers[name]]] : [],
      ),
    );
    const body = Buffer.concat(chunks);
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const sent = { method: "POST", headers, body, signal: gone.signal };
    const answer = await fetch(new URL(request.url ?? "", api.url), sent).catch(() => null);
    const text = await answer?.text().catch(() => "");
    if (answer === null || text === undefined) return void request.socket.destroy();
    if (fate === "lost" && !text.includes('"calls":[]')) return void request.socket.destroy();
    if (fate === "lost") fates.push({ action, fate }); // an answer worth losing is still to come
    response.writeHead(answer.status, { "content-type": "application/json" }).end(text);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const key = await world.executorKey(hosted.project, "frail");
  args = ["--url", url, "--key", key, "--target", "frail", "--heartbeat", "0.2"];
});
beforeEach(() => {
  fates = [];
});
afterEach(async () => {
  for (const child of running.splice(0)) {
    const exit = new Promise((resolve) => child.once("exit", resolve));
    if (child.kill("SIGKILL")) await exit;
  }
  for (const close of closing.splice(0)) await close();
  // The poll of one that was killed must not take the next test's call.
  await waitFor(() => pending === 0, { what: "the requests of the killed to end" });
});
afterAll(async () => {
  proxy.closeAllConnections();
  await new Promise((resolve) => proxy.close(resolve));
  await world.close();
});

function python(name: string, more: readonly string[]): { child: ChildProcess; printed: () => string } {
  const child = spawn("python3", ["-uBc", program(name), EXAMPLE, ...args, ...more], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.push(child);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      printed += text;
    });
  }
  return { child, printed: () => printed };
}

describe("the Python executor over HTTP", () => {
  const start = () => python("executor_http", ["--project", hosted.project]);

  it("goes on with a call though its heartbeats are refused for reasons that are not the call's", async () => {
    fates = [429, 401, 503, 502].map((fate) => ({ action: "heartbeat", fate }));
    start();
    const answer = await world.call(hosted, "frail__echo", { text: "on", seconds: 2 });
    expect(answer).toMatchObject({ status: "success", result: { text: "on", attempt: 1 } });
    expect(fates).toEqual([]);
  });

  it("runs a call at its first attempt though the answer to its claim was lost", async () => {
    fates = [{ action: "claim", fate: "lost" }];
    start();
    const answer = await world.call(hosted, "frail__echo", { text: "once", seconds: 0 });
    expect(answer).toMatchObject({ status: "success", result: { text: "once", attempt: 1 } });
    expect(fates).toEqual([]);
  });

  it.each(["nan", "object", "key"])("settles a call whose result cannot be taken: %s", async (name) => {
    const { child } = start();
    const answer = await world.call(hosted, `frail__${name}`, {});
    expect(answer).toMatchObject({ status: "failed", error: { code: "result_not_serializable" } });
    expect(child.exitCode).toBeNull();
  });

  it("keeps a result while the API refuses everybody", async () => {
    fates = [401, 503].map((fate) => ({ action: "report", fate }));
    start();
    expect(await world.call(hosted, "frail__echo", { seconds: 0 })).toMatchObject({ status: "success" });
    expect(fates).toEqual([]);
  });
});

describe("the Python executor that hears its commands on NATS", () => {
  async function start(nats = inject("natsUrl")) {
    const started = python("executor_nats", ["--nats", nats, "--project", hosted.project]);
    await waitFor(() => started.printed().includes("listening"), { what: "it to listen" });
    return started;
  }

  it("opens a call at its first attempt though the answer was lost, and the API away, for a moment", async () => {
    fates = [
      { action: "open", fate: "unsent" },
      { action: "open", fate: "lost" },
    ];
    const { printed } = await start();
    const answer = await world.call(hosted, "frail__echo", { text: "x", seconds: 0 });
    expect(answer, printed()).toMatchObject({ status: "success", result: { attempt: 1 } });
    expect(fates).toEqual([]);
  });

  it("outlives an API that is away for longer, and does the work then", async () => {
    fates = ["unsent", "unsent", "unsent", 503, "unsent"].map((fate) => ({ action: "open", fate: fate as Fate }));
    const { child, printed } = await start();
    const answer = await world.call(hosted, "frail__echo", { text: "x", seconds: 0 }, { waitMs: 40_000 });
    expect(answer, printed()).toMatchObject({ status: "success", result: { attempt: 1 } });
    expect(child.exitCode).toBeNull();
  }, 60_000);

  it("connects again when its connection to NATS breaks", async () => {
    const line = await startLine(inject("natsUrl"));
    const { printed } = await start(line.url);
    line.cut();
    await waitFor(() => printed().split("listening").length === 3, { what: `it to listen again: ${printed()}` });
    const answer = await world.call(hosted, "frail__echo", { text: "again", seconds: 0 });
    expect(answer).toMatchObject({ status: "success", result: { text: "again" } });
  });
});

/** A line to NATS that can be cut. */
async function startLine(url: string): Promise<{ url: string; cut(): void }> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  const server: Server = createTcpServer((near) => {
    const far = connect(Number(target.port), target.hostname);
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  closing.push(async () => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  });
  const through = new URL(url);
  through.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { url: through.href, cut };
}
