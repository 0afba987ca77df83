// A secret that a tool gets from the environment of its executor, looked for in everything that is left afterwards.
//
// The tool is hostile on purpose: it says its secret in every way that a tool can say anything, written in every usual
// form. It also says the hash of what it got, so that a run without the secret fails the test.

import { spawn } from "node:child_process";
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { trace } from "@opentelemetry/api";
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { TOOL_PLACEMENTS, type ToolPlacement } from "@tessera/protocol";
import { awaitToolCall, type ToolCallAnswer } from "@tessera/runtime";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { readEvents } from "../../packages/server/test/event-reader.ts";
import { dumpOf, hitsIn } from "./secret-search.ts";
import { type HostedProject, ToolWorld } from "./tool-world.ts";
import { startUpstream, type Upstream } from "./upstream.ts";

const ROOT = join(import.meta.dirname, "../..");
const SECRET = `can4ry/${randomBytes(9).toString("base64")}+=&ü?`;
const UPSTREAM_SECRET = `ups+${randomBytes(12).toString("hex")}/~`;
const ENV = { CANARY_TOKEN: SECRET, UPSTREAM_TOKEN: UPSTREAM_SECRET };
const sha256 = (text: string) => createHash("sha256").update(text).digest("hex");

const RESOURCE = (placement: ToolPlacement, target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: leaky }
spec:
  entry: ./leaky.ts
  placement: ${placement}
${placement === "service" || placement === "edge" ? `  target: ${target}` : ""}
  envs: { token: CANARY_TOKEN }
  exports:
    - name: tell
      parameters: { type: object, properties: { token: { type: string }, loud: { type: boolean } } }
    - name: fail
      parameters: { type: object, properties: { token: { type: string } } }
    - name: crash
      parameters: { type: object, properties: { token: { type: string } } }
      effect: read
      retry: { max_attempts: 1 }
`;

const MODULE = `
import { createHash } from "node:crypto";
import { ToolError, type ToolHandler } from "@tessera/tool";

const formsOf = (text: string): string[] => {
  const padded = ["", "a", "ab"].map((before) => Buffer.from(before + text));
  return [
    text, encodeURIComponent(text), Buffer.from(text).toString("hex"), Buffer.from(text).toString("hex").toUpperCase(),
    ...padded.map((bytes) => bytes.toString("base64")), ...padded.map((bytes) => bytes.toString("base64url")),
  ];
};

export const handlers: Record<string, ToolHandler> = {
  tell: (ctx, input) => {
    const forms = formsOf(String(input.token));
    ctx.progress({ message: forms.join(" "), data: { forms, inside: { [forms[0] ?? ""]: 1 } } });
    for (const form of forms) ctx.logger.info("the secret is", form, { form });
    ctx.logger.error(new Error(forms.join(" ")));
    if (input.loud === true) {
      console.log(forms.join(" "));
      console.error(forms.join(" "));
      for (const form of forms) process.stdout.write(form + "\\n");
    }
    return {
      sha256: createHash("sha256").update(String(input.token)).digest("hex"),
      length: String(input.token).length,
      forms, quoted: forms.map((form) => "<" + form + ">"), ["key " + forms[0]]: true, text: JSON.stringify(input),
    };
  },
  fail: (_, input) => {
    const forms = formsOf(String(input.token));
    throw new ToolError("sha256=" + createHash("sha256").update(String(input.token)).digest("hex") + " " + forms.join(" "), {
      code: "E_" + forms[0], suggestion: forms.join(" "), helpUrl: "https://example.com/?q=" + forms[1],
    });
  },
  crash: (_, input) => {
    process.stderr.write(formsOf(String(input.token)).join(" ") + "\\n");
    process.exit(3);
  },
};
`;

const API_RESOURCE = (placement: "service" | "edge", target: string) => `
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: upstream }
spec:
  placement: ${placement}
  target: ${target}
  openapi:
    document: ./upstream.yaml
    hosts: [api.example.com]
    auth: { bearerAuth: UPSTREAM_TOKEN, keyAuth: UPSTREAM_TOKEN }
`;
const API_DOCUMENT = `
openapi: 3.1.0
info: { title: Upstream, version: "1" }
servers: [{ url: https://api.example.com/v1 }]
paths:
  /echo: { get: { operationId: echo, security: [{ bearerAuth: [] }] } }
  /keyed: { get: { operationId: keyed, security: [{ keyAuth: [] }] } }
  /refuse: { get: { operationId: refuse, security: [{ bearerAuth: [] }] } }
components:
  securitySchemes:
    bearerAuth: { type: http, scheme: bearer }
    keyAuth: { type: apiKey, in: header, name: X-Key }
`;

/** Says the secret back: as it came, and re-coded as servers do in redirects and error pages. */
function echo(request: { url: string; headers: Record<string, unknown> }) {
  const said = JSON.stringify(request);
  const encoded = [said, UPSTREAM_SECRET].flatMap((text) => [
    Buffer.from(text).toString("base64"),
    Buffer.from(text).toString("base64url"),
    Buffer.from(text).toString("hex"),
    encodeURIComponent(text),
  ]);
  const got = said.includes(UPSTREAM_SECRET) || said.includes(encodeURIComponent(UPSTREAM_SECRET));
  return {
    status: request.url.includes("/refuse") ? 401 : 200,
    body: { got, headers: request.headers, url: request.url, encoded, note: `bad token ${UPSTREAM_SECRET}` },
  };
}

const spans = new InMemorySpanExporter();
trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }));

describe.each(["pglite", "postgres"] as const)("a secret of the environment, on %s", (engine) => {
  let world: ToolWorld;
  let upstream: Upstream;
  const bodies: string[] = [];
  /** The stub waits for whole bodies, and a stream has none. */
  let plainFetch = globalThis.fetch;

  beforeAll(async () => {
    world = await ToolWorld.open(engine);
    upstream = await startUpstream(echo);
    const send = globalThis.fetch;
    plainFetch = send;
    // Everything that goes over the HTTP edge, in both directions.
    vi.stubGlobal("fetch", async (url: URL | string, init?: RequestInit) => {
      if (typeof init?.body === "string") bodies.push(init.body);
      const response = await send(url, init);
      bodies.push(`${JSON.stringify([...response.headers])}\n${await response.clone().text()}`);
      return response;
    });
  });
  afterEach(() => void bodies.splice(0));
  afterAll(async () => {
    vi.unstubAllGlobals();
    await world.close();
    await upstream.dispatcher.destroy();
    await upstream.close();
  });

  const start = async (placement: ToolPlacement, files: (target: string) => Record<string, string>) => {
    const project = world.newProject();
    const target = `t_${sha256(project).slice(0, 12)}`;
    const bundle = world.bundle(files(target));
    const hosted = await world.host({ project, bundle, env: ENV, dispatcher: upstream.dispatcher });
    if (placement === "edge") await world.edge(hosted, target);
    return hosted;
  };

  /** Everything there is to search, by place. */
  async function traces(hosted: HostedProject, answers: readonly ToolCallAnswer[]): Promise<Record<string, string>> {
    const { url, key } = await world.api();
    for (const path of ["tools", "tools/leaky__tell"]) {
      const response = await fetch(new URL(`/projects/${hosted.project}/${path}`, url), {
        headers: { authorization: `Bearer ${key.text}` },
      });
      expect([200, 404]).toContain(response.status);
    }
    const stub = globalThis.fetch;
    globalThis.fetch = plainFetch;
    const stream = await readEvents({ url }, `/projects/${hosted.project}/events?after=0`, { key: key.text });
    globalThis.fetch = stub;
    const ends = () => stream.events.filter(({ event }) => event === "task").length;
    await waitFor(() => ends() >= answers.length, { what: "the ends of the turns on the stream" });
    stream.close();
    const decoder = new TextDecoder();
    return {
      ...(await dumpOf(world.node.store.database)),
      stream: stream.text(),
      spans: spans
        .getFinishedSpans()
        .map(({ name, attributes, events, status }) => JSON.stringify({ name, attributes, events, status }))
        .join("\n"),
      logs: JSON.stringify(world.logs),
      warnings: world.warnings.join("\n"),
      bus: world.published.map((message) => `${JSON.stringify(message)}\n${decoder.decode(message.data)}`).join("\n"),
      http: bodies.join("\n"),
      answers: JSON.stringify(answers),
    };
  }

  it.each(TOOL_PLACEMENTS)(
    "reaches its %s tool and appears nowhere else, whatever the tool says",
    async (placement) => {
      const hosted = await start(placement, (target) => ({
        "tessera.yaml": RESOURCE(placement, target),
        "leaky.ts": MODULE,
      }));
      const logged = world.logs.length;
      // In this very process a tool's own prints and its exit are the host's: what the inline placement is not for.
      const isInline = placement === "inline";
      const [told, failed] = await Promise.all([
        world.call(hosted, "leaky__tell", { loud: !isInline }),
        world.call(hosted, "leaky__fail", {}),
      ]);
      const crashed = isInline ? [] : [await world.call(hosted, "leaky__crash", {})];
      expect(told).toMatchObject({ status: "success", result: { sha256: sha256(SECRET), length: SECRET.length } });
      expect(JSON.stringify(told.result)).toContain("***");
      expect(failed.error?.message).toContain(`sha256=${sha256(SECRET)}`);
      for (const answer of crashed) expect(answer.error?.code).toBe("tool_crashed");
      expect(world.logs.length).toBeGreaterThan(logged + 10);

      const places = await traces(hosted, [told, failed, ...crashed]);
      expect(places["card.cards"]).toContain(sha256(SECRET));
      expect(Object.values(places).join("\n")).toContain("CANARY_TOKEN");
      if (placement === "service") expect(places.bus).toContain(".chunk");
      expect(places.spans).toContain("leaky__fail");
      expect(hitsIn(places, [SECRET, UPSTREAM_SECRET])).toEqual([]);
      expect(hitsIn({ dump: `x${JSON.stringify(ENV)}` }, [SECRET])).toEqual(["dump: raw"]);
    },
  );

  it.each(["service", "edge"] as const)(
    "is sent to the host it is for by a %s tool made of an OpenAPI document, and what that host echoes is masked",
    async (placement) => {
      const hosted = await start(placement, (target) => ({
        "tessera.yaml": API_RESOURCE(placement, target),
        "upstream.yaml": API_DOCUMENT,
      }));
      const answers = await Promise.all(
        ["echo", "keyed", "refuse"].map((name) => world.call(hosted, `upstream__${name}`, {})),
      );
      expect(
        answers.map((answer) => answer.status),
        JSON.stringify(answers),
      ).toEqual(["success", "success", "failed"]);
      expect(JSON.stringify(answers[0])).toContain('"got":true');
      expect(JSON.stringify(answers[1])).toContain('"got":true');
      expect(upstream.seen.some(({ headers }) => headers.authorization === `Bearer ${UPSTREAM_SECRET}`)).toBe(true);
      expect(hitsIn(await traces(hosted, answers), [SECRET, UPSTREAM_SECRET])).toEqual([]);
    },
  );
});

describe("a secret in the environment of `tessera start`", () => {
  it("is in neither of its streams, though its tools print it", async () => {
    const world = await ToolWorld.open("postgres");
    try {
      const { kernel, ids, store } = world.node;
      const project = world.newProject();
      const target = `t_${sha256(project).slice(0, 12)}`;
      const bundle = world.bundle({ "tessera.yaml": RESOURCE("service", target), "leaky.ts": MODULE });
      const place = store.place;
      if (place.kind !== "postgres") throw new Error("a PostgreSQL store was asked for");
      const child = spawn(
        process.execPath,
        [join(ROOT, "packages/cli/bin/tessera.js"), "start", bundle, "--project", project, "--port", "0"],
        {
          env: { ...process.env, ...ENV, TESSERA_POSTGRES: place.url, TESSERA_NATS: inject("natsUrl") },
          stdio: ["ignore", "pipe", "pipe"],
        },
      );
      const printed: string[] = [];
      for (const stream of [child.stdout, child.stderr]) {
        stream.setEncoding("utf8").on("data", (text: string) => printed.push(text));
      }
      const said = () => printed.join("");
      try {
        await waitFor(() => said().includes("is running"), { what: `it to start; ${said()}`, timeoutMs: 20_000 });
        // What the caller's `request` commits; the process that was started takes it forward.
        const profile_box_id = ids.mint("box");
        await kernel.putBox({ project_id: project, box_id: profile_box_id });
        const answers: ToolCallAnswer[] = [];
        for (const name of ["leaky__tell", "leaky__fail", "leaky__crash"]) {
          const agent_id = ids.mint("call");
          await kernel.putAgent({ project_id: project, agent_id, worker_target: "tool_caller", profile_box_id });
          const turn = await kernel.enqueueTurn({
            project_id: project,
            agent_id,
            source_agent_id: "sys.tool_caller",
            runtime_config: { tool_call: { name, arguments: name === "leaky__tell" ? { loud: true } : {} } },
          });
          if (turn.outcome === "rejected") throw new Error(turn.code);
          answers.push(await awaitToolCall(world.node, project, turn.agent_turn_id, { waitMs: 20_000 }));
        }
        expect(answers[0]).toMatchObject({ status: "success", result: { sha256: sha256(SECRET) } });
        expect(answers.slice(1).map((answer) => answer.status)).toEqual(["failed", "failed"]);
        await waitFor(() => said().includes("the secret is ***"), { what: "the tool's log lines" });
        const places = { printed: said(), answers: JSON.stringify(answers), ...(await dumpOf(store.database)) };
        expect(hitsIn(places, [SECRET])).toEqual([]);
      } finally {
        child.kill("SIGTERM");
        await new Promise((resolve) => (child.exitCode === null ? child.once("exit", resolve) : resolve(null)));
      }
    } finally {
      await world.close();
    }
  }, 60_000);
});
