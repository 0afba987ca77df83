// The works of `npm run bench`, in the order in which a repetition runs them: what is compared stands close together.

import type { Work } from "./work.ts";

const CLUSTER = { needs: ["postgres", "nats"] } as const;
const THREE = ["--concurrency", "1,64,256"];

export const FLOOR: Work = {
  name: "floor",
  what: "the floor: the durable call by hand, PostgreSQL + NATS, two processes, batched; no leases, fencing, checks, tracing",
  program: "programs/floor.ts",
  args: THREE,
  ...CLUSTER,
};
export const DURABLE_ONCE: Work = {
  name: "durable-once",
  what: "durable call, PostgreSQL + NATS, two processes, effect once",
  program: "programs/durable-call.ts",
  args: [...THREE, "--effect", "once"],
  ...CLUSTER,
};

export const WORKS: readonly Work[] = [
  FLOOR,
  DURABLE_ONCE,
  {
    name: "durable-read",
    what: "the same, effect read",
    program: "programs/durable-call.ts",
    args: [...THREE, "--effect", "read"],
    ...CLUSTER,
  },
  {
    name: "durable-alone",
    what: "the same without NATS: PostgreSQL alone, LISTEN/NOTIFY, effect once",
    program: "programs/durable-call.ts",
    args: ["--effect", "once"],
    needs: ["postgres"],
  },
  {
    name: "cost",
    what: "what a durable call costs PostgreSQL: statements, commits, rows, WAL",
    program: "programs/durable-call.ts",
    args: ["--cost", "--seconds", "2"],
    quickArgs: ["--seconds", "1"],
    ...CLUSTER,
  },
  {
    name: "inline",
    what: "inline durable call, PostgreSQL: the tool runs where its agent runs",
    program: "programs/inline-call.ts",
    needs: ["postgres"],
  },
  {
    name: "embedded-floor-disk",
    what: "the floor on PGlite on disk: 3 transactions at concurrency 1, batched at 64",
    program: "programs/embedded-floor.ts",
    args: ["--disk"],
  },
  {
    name: "embedded-disk",
    what: "durable call, embedded: PGlite on disk, one process",
    program: "programs/embedded-call.ts",
    args: ["--disk"],
  },
  {
    name: "embedded-floor-memory",
    what: "the floor on PGlite in memory",
    program: "programs/embedded-floor.ts",
  },
  {
    name: "embedded-memory",
    what: "durable call, embedded: PGlite in memory, one process",
    program: "programs/embedded-call.ts",
  },
  {
    name: "http-edge",
    what: "durable call whose tool works over HTTP: agent and API | executor",
    program: "programs/http-edge.ts",
    ...CLUSTER,
  },
  {
    name: "two-step-turn",
    what: "a turn of two steps with the scripted model and a tool service in another process: enqueue to deliverable",
    program: "programs/two-step-turn.ts",
    ...CLUSTER,
  },
  {
    name: "fork-join",
    what: "fork_join of 50 children that echo their task: enqueue to deliverable",
    program: "programs/fork-join.ts",
    ...CLUSTER,
  },
  {
    name: "dispatch",
    what: "in-process dispatch of a tool with validation, no store",
    program: "programs/dispatch.ts",
  },
  {
    name: "suspended",
    what: "5,000 suspended turns: memory of their worker, and time until all have been answered and have ended",
    program: "programs/suspended-turns.ts",
    args: ["--turns", "5000"],
    quickArgs: ["--turns", "500"],
    nodeFlags: ["--expose-gc"],
    ...CLUSTER,
  },
  {
    name: "growth",
    what: "the durable call in a store of 10³, 10⁵ and 10⁶ cards",
    program: "programs/growth.ts",
    args: ["--sizes", "1000,100000,1000000"],
    quickArgs: ["--sizes", "1000,30000"],
    ...CLUSTER,
  },
  {
    name: "long-turn",
    what: "a step of a turn of 200 steps with an inline tool, without the model's time",
    program: "programs/long-turn.ts",
    needs: ["postgres"],
  },
  {
    name: "long-turn-service",
    what: "the same with a tool service: the turn is suspended, forgotten and read again at each step",
    program: "programs/long-turn.ts",
    args: ["--placement", "service"],
    ...CLUSTER,
  },
  {
    name: "long-conversation",
    what: "turn 1,000 of an instance and turn 5 of others, without the model's time, PostgreSQL",
    program: "programs/long-conversation.ts",
    needs: ["postgres"],
  },
  {
    name: "long-conversation-embedded",
    what: "the same, PGlite in memory",
    program: "programs/long-conversation.ts",
  },
  {
    name: "start-up",
    what: "`tessera run` of the quick start, embedded: command to first step, of which 300 ms are the script's thinking",
    program: "programs/start-up.ts",
  },
];
