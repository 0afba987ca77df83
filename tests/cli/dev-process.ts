// `tessera dev` as a process on a bundle that a test writes, asked over its API; and the bundle.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { TESSERA } from "./run-tessera.ts";

interface DevEvent {
  readonly event: string;
  readonly [field: string]: unknown;
}

export interface Dev {
  readonly child: ChildProcess;
  readonly url: string;
  /** What it printed with --json. */
  events(event?: string): DevEvent[];
  /** Lines of its log. */
  log(): string[];
  /** The first event of this name after the act, or the first that names the file. */
  next(event: string, act: () => void, file?: string): Promise<DevEvent>;
  get(path: string): Promise<Record<string, unknown>>;
  enqueue(agent: string, input?: string): Promise<Response>;
  /** Asks for a turn, and answers with what it delivered. */
  ask(agent: string, input?: string): Promise<unknown>;
  ended(turnId: string): Promise<Record<string, unknown>>;
  stop(signal?: NodeJS.Signals): Promise<void>;
}

const running = new Set<ChildProcess>();

export async function endAllDevs(): Promise<void> {
  for (const child of running) {
    const exit = once(child, "exit");
    child.kill("SIGKILL");
    await exit;
  }
}

/** With --json: what it says is events. */
export async function startDev(bundle: string, args: readonly string[] = []): Promise<Dev> {
  const child = spawn(process.execPath, [TESSERA, "dev", bundle, "--port", "0", "--json", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  const printed = { out: "", err: "" };
  child.stdout.on("data", (chunk) => {
    printed.out += chunk;
  });
  child.stderr.on("data", (chunk) => {
    printed.err += chunk;
  });
  const linesOf = (text: string) => text.split("\n").slice(0, -1);
  const events = (event?: string) =>
    linesOf(printed.out)
      .map((line) => JSON.parse(line) as DevEvent)
      .filter((each) => event === undefined || each.event === event);
  await waitFor(() => events("started").length > 0 || child.exitCode !== null, {
    what: "dev to start",
    timeoutMs: 90_000,
  });
  const [started] = events("started");
  if (started === undefined) throw new Error(`dev did not start: ${printed.out}${printed.err}`);
  const url = String(started.url);
  const headers = { authorization: `Bearer ${String(started.key)}`, "content-type": "application/json" };
  const get = async (path: string) =>
    (await (await fetch(`${url}/projects/default${path}`, { headers })).json()) as Record<string, unknown>;
  const enqueue = async (agent: string, input = "hello") =>
    await fetch(`${url}/projects/default/turns`, { method: "POST", headers, body: JSON.stringify({ agent, input }) });
  const ended = (turnId: string) =>
    waitFor(
      async () => {
        const turn = await get(`/turns/${turnId}`);
        return turn.ended_at === null ? null : turn;
      },
      { what: `the turn ${turnId} to end`, timeoutMs: 60_000 },
    );
  return {
    child,
    url,
    events,
    log: () => linesOf(printed.err),
    async next(event, act, file) {
      const before = events(event).length;
      act();
      const isMeant = ({ files }: DevEvent) => file === undefined || (files as readonly string[]).includes(file);
      const found = () => events(event).slice(before).find(isMeant);
      return await waitFor(found, { what: `the event ${event}`, timeoutMs: 60_000 });
    },
    get,
    enqueue,
    ended,
    async ask(agent, input) {
      const { agent_turn_id } = (await (await enqueue(agent, input)).json()) as { agent_turn_id: string };
      const { deliverable, error_message } = await ended(agent_turn_id);
      return (deliverable as { text?: string } | null)?.text ?? error_message;
    },
    async stop(signal = "SIGINT") {
      const exit = once(child, "exit");
      child.kill(signal);
      await exit;
    },
  };
}

export function write(directory: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, file)), { recursive: true });
    writeFileSync(join(directory, file), text);
  }
}

export interface AgentText {
  readonly name: string;
  /** The calls of its first step, as YAML. */
  readonly calls?: readonly string[];
  /** What it answers when their results are in. */
  readonly says?: string;
  /** Rules before that answer, as YAML. */
  readonly rules?: readonly string[];
  readonly more?: string;
}

/** An agent with a scripted model of its own, that makes its calls one after the other. */
export function agentYaml({
  name,
  calls = ["words__say"],
  says = "{{result.says}}",
  rules: others = [],
  more = "",
}: AgentText): string {
  const rules = calls.map(
    (call, step) =>
      `- { when: { step: ${step} }, reply: { text: "calls", toolCalls: [ { name: ${call}, arguments: {} } ] } }`,
  );
  const tools = [...new Set(calls.map((call) => call.split("__")[0]))];
  return `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: ${name}-model }
spec: { provider: scripted, options: { rules: [ ${[...rules, ...others.map((rule) => `- ${rule}`), `- { reply: { text: "${says}" } }`].map((rule) => rule.slice(2)).join(", ")} ] } }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: ${name} }
spec: { modelConfig: { modelRef: Model/${name}-model }, tools: [ ${tools.map((tool) => `Tool/${tool}`).join(", ")} ] ${more} }
`;
}

export function toolYaml(name: string, exports: readonly string[], more = ""): string {
  const listed = exports.map(
    (each) => `    - { name: ${each}, description: "${name} ${each}", effect: idempotent, timeoutMs: 60000 }`,
  );
  return `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ${name} }
spec:
  entry: ./tools/${name}.ts
  ${more}
  exports:
${listed.join("\n")}
`;
}

export const yaml = (...documents: readonly string[]): string => documents.join("---\n");
