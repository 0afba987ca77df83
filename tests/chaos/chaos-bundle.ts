// The bundle of a chaos run: agents that call tools of every effect in every place, and tools that write what they do to
// a ledger outside the database.
//
//   B1. An effect is one fsynced line of the ledger with call, key and attempt, written before the tool answers.
//   B2. `reconciled` has its effect in a file of its own, made by link(2): the effect of an attempt and the promise that it
//       will have none exclude each other, as with a system that can be told to give an order up.
//   B3. Targets are those for which deploy/nats.conf gives rights: `tickets` is served in Node, `edge` over HTTP in Python.

export const LEDGER_FILE = "effects.jsonl";
const CALL_MS_MAX = 12_000;
const FORK_SECONDS = 30;
/** A worker holds a turn while its model thinks: long enough that one that is killed held something. */
const THINK_MS = 250;

/** What a turn of an agent calls, step by step. */
const AGENTS = {
  clerk: [["tickets__read", "tickets__idempotent"], ["tickets__once"]],
  local: [
    ["here__read", "here__once"],
    ["here__idempotent", "tickets__reconciled"],
  ],
  snake: [["edge__idempotent", "edge__once"]],
  slow: [["tickets__slow", "tickets__once"]],
} as const;

/** Agents that give work to others. */
const BOSSES = { boss: ["clerk", "local", "clerk"], chief: ["boss", "local"] } as const;

export type ChaosAgent = keyof typeof AGENTS | keyof typeof BOSSES;

const HANDLERS = `
import { closeSync, fsyncSync, linkSync, openSync, readdirSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const write = (file, text) => {
  const fd = openSync(file, "a");
  writeSync(fd, text);
  fsyncSync(fd);
  closeSync(fd);
};
const entryOf = (tool, ctx) =>
  JSON.stringify({ tool_call_id: ctx.toolCallId, tool, key: ctx.idempotencyKey, attempt: ctx.attempt, pid: process.pid });
const act = (tool, workMs) => async (ctx, { place }) => {
  await pause(workMs / 2);
  write(join(place, "${LEDGER_FILE}"), entryOf(tool, ctx) + "\\n");
  await pause(workMs / 2);
  return { tool, attempt: ctx.attempt };
};

/** False: the attempt was decided before. */
const decide = (place, key, attempt, text) => {
  const draft = join(place, "decisions", "." + key + "." + attempt + "." + process.pid);
  write(draft, text);
  try {
    linkSync(draft, join(place, "decisions", key + "." + attempt));
    return true;
  } catch (error) {
    if (error.code !== "EEXIST") throw error;
    return false;
  } finally {
    rmSync(draft);
  }
};
const reconciled = async (ctx, { place }) => {
  await pause(40);
  if (!decide(place, ctx.idempotencyKey, ctx.attempt, entryOf("tickets__reconciled", ctx))) throw new Error("given up before");
  return { attempt: ctx.attempt };
};
export const reconcilers = {
  reconciled: (ctx, call) => {
    const { place } = call.input;
    for (let attempt = 1; attempt < ctx.attempt; attempt++) decide(place, call.idempotencyKey, attempt, "");
    const made = readdirSync(join(place, "decisions")).filter((name) => name.startsWith(call.idempotencyKey + "."));
    const acted = made.some((name) => readFileSync(join(place, "decisions", name), "utf8") !== "");
    return acted ? { outcome: "done", output: { attempt: ctx.attempt } } : { outcome: "not_done" };
  },
};
`;

const handlersOf = (resource: string, names: Readonly<Record<string, number>>) =>
  Object.entries(names)
    .map(([name, workMs]) => `  ${name}: act("${resource}__${name}", ${workMs}),`)
    .join("\n");

/** File → text. `place` is where tools leave their effects. */
export function chaosBundle(place: string): Readonly<Record<string, string>> {
  const call = (name: string) => ({ name, arguments: { place } });
  const rules = [
    ...Object.entries(AGENTS).flatMap(([agent, steps]) => [
      ...steps.map((calls, step) => ({
        when: { agent, step },
        reply: { text: "acting", delayMs: THINK_MS, toolCalls: calls.map(call) },
      })),
      { when: { agent }, reply: { text: "done", delayMs: THINK_MS } },
    ]),
    ...Object.entries(BOSSES).flatMap(([agent, children]) => [
      { when: { agent, step: 0 }, reply: { text: "sharing", delayMs: THINK_MS, toolCalls: [fork(children)] } },
      { when: { agent }, reply: { text: "done", delayMs: THINK_MS } },
    ]),
  ];
  const documents = [
    { kind: "Model", metadata: { name: "script" }, spec: { provider: "scripted", options: { rules } } },
    tool("here", { entry: "./here.ts", placement: "inline" }, ["read", "idempotent", "once"]),
    tool("tickets", { entry: "./tickets.ts", placement: "service" }, [
      "read",
      "idempotent",
      "once",
      "reconciled",
      "slow",
    ]),
    tool("edge", { placement: "edge" }, ["idempotent", "once"]),
    ...Object.keys(AGENTS).map((name) => agent(name, { tools: ["Tool/here", "Tool/tickets", "Tool/edge"] })),
    ...Object.entries(BOSSES).map(([name, children]) =>
      agent(name, {
        allowedInternalTools: ["fork_join"],
        delegationPolicy: { targetProfiles: [...new Set<string>(children)] },
      }),
    ),
  ];
  return {
    "tessera.yaml": documents.map((each) => JSON.stringify({ apiVersion: "goondan.ai/v1", ...each })).join("\n---\n"),
    "here.ts": `${HANDLERS}
export const handlers = {
${handlersOf("here", { read: 10, idempotent: 30, once: 30 })}
};
`,
    "tickets.ts": `${HANDLERS}
export const handlers = {
  reconciled,
${handlersOf("tickets", { read: 10, idempotent: 40, once: 40, slow: 5_000 })}
};
`,
  };
}

function tool(name: string, where: Readonly<Record<string, string>>, exports: readonly string[]) {
  const effects: Readonly<Record<string, string>> = { read: "read", once: "once", reconciled: "once" };
  return {
    kind: "Tool",
    metadata: { name },
    spec: {
      ...where,
      exports: exports.map((each) => ({
        name: each,
        description: each,
        effect: effects[each] ?? "idempotent",
        timeoutMs: CALL_MS_MAX,
        retry: { maxAttempts: 20 },
        parameters: { type: "object", properties: { place: { type: "string" } }, required: ["place"] },
        ...(each === "reconciled" ? { reconcile: true } : {}),
      })),
    },
  };
}

function agent(name: string, spec: Readonly<Record<string, unknown>>) {
  return { kind: "Agent", metadata: { name }, spec: { modelConfig: { modelRef: "Model/script" }, ...spec } };
}

function fork(children: readonly string[]) {
  const tasks = children.map((target_ref) => ({ target_strategy: "new", target_ref, instruction: "go" }));
  return { name: "fork_join", arguments: { tasks, deadline_seconds: FORK_SECONDS } };
}
