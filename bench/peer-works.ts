// The works of `npm run bench:peers`: Tessera's durable call and its floor, and the same work as each peer does it. Every peer
// has one plain configuration, as its documentation would have it; the floor had many variants.

import type { Work } from "./work.ts";
import { DURABLE_ONCE, FLOOR } from "./works.ts";

const TWO = ["--concurrency", "1,64"];

export const PEER_WORKS: readonly Work[] = [
  { ...FLOOR, args: TWO },
  { ...DURABLE_ONCE, args: [...TWO, "--effect", "once"] },
  {
    name: "dbos",
    what: "DBOS: a workflow with one step, no hop to another process",
    program: "peers/dbos.mjs",
    needs: ["postgres"],
  },
  {
    name: "restate",
    what: "Restate: a virtual object calls a service in another process",
    program: "peers/restate.mjs",
    needs: ["restate"],
  },
  {
    name: "graphile-worker",
    what: "graphile-worker: job, result table, NOTIFY",
    program: "peers/graphile-worker.mjs",
    needs: ["postgres"],
  },
  {
    name: "pg-boss",
    what: "pg-boss with notifications: job, result table, NOTIFY",
    program: "peers/pg-boss.mjs",
    needs: ["postgres"],
  },
  {
    name: "langgraph",
    what: "LangGraph with the PostgreSQL checkpointer, durability sync, no hop to another process",
    program: "peers/langgraph.mjs",
    needs: ["postgres"],
  },
  {
    name: "bullmq",
    what: "BullMQ: Redis with an append-only file, synchronized always",
    program: "peers/bullmq.mjs",
    needs: ["redis"],
  },
  { name: "ai-sdk", what: "AI SDK in process, not durable: one tool call, two steps", program: "peers/ai-sdk.mjs" },
  { name: "mastra", what: "Mastra in process, not durable: one tool call, two steps", program: "peers/mastra.mjs" },
];
