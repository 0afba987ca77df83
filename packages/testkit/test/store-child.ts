// A child process of the database tests: opens the store in a directory on request, and does what it is asked.
//
// Usage: store-child.ts DIRECTORY from-snapshot|from-nothing. Then one JSON line per request on stdin; answers and events on stdout.

import { createInterface } from "node:readline";
import { cachedSnapshot, openPglite, type PgliteDatabase } from "@tessera/engines/pglite";

const [directory = "", start] = process.argv.slice(2);
const missing = () => Promise.reject(new Error("the test should have stored this snapshot"));
const snapshot = start === "from-snapshot" ? { snapshot: await cachedSnapshot("empty", missing) } : {};
let database: PgliteDatabase | null = null;
let fatalCalls = 0;

print({ event: "ready" });
for await (const line of createInterface({ input: process.stdin })) {
  const { request } = JSON.parse(line) as { request: string };
  if (request === "open") await open();
  if (request === "write") await write();
  if (request === "break") await breakEngine();
}

async function open(): Promise<void> {
  const started = performance.now();
  const ms = () => Math.round(performance.now() - started);
  try {
    database = await openPglite({ directory, ...snapshot, onFatal: () => void fatalCalls++ });
    await database.script("create table if not exists written (n int8 primary key)");
    print({ event: "opened", pid: process.pid, ms: ms() });
  } catch (error) {
    print({ event: "refused", name: (error as Error).name, message: (error as Error).message, ms: ms() });
  }
}

/** Writes rows until it is killed, and prints each one only after its commit. */
async function write(): Promise<void> {
  const rows = await database?.query<{ n: number }>("select coalesce(max(n), 0) as n from written");
  for (let n = Number(rows?.[0]?.n) + 1; ; n++) {
    await database?.query("insert into written values ($1)", [n]);
    print({ event: "committed", n });
  }
}

/** JSON this deep overflows the stack inside WASM. */
async function breakEngine(): Promise<void> {
  const deep = "[".repeat(20_000) + "]".repeat(20_000);
  const first = await kindOf(database?.query("select $1::jsonb as v", [deep]));
  const second = await kindOf(database?.query("select 1"));
  print({ event: "broke", first, second, fatalCalls });
  process.exit(70); // as the runtime would, after logging
}

async function kindOf(call: Promise<unknown> | undefined): Promise<string> {
  return await Promise.resolve(call).then(
    () => "no error",
    (error: { kind: string }) => error.kind,
  );
}

function print(message: object): void {
  process.stdout.write(`${JSON.stringify(message)}\n`);
}
