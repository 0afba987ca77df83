// The quick start: `npm start`. A swarm plans a day trip on an embedded store; no key, no service.
//
// It is the `tessera` command in this process: first `tessera run`, then `tessera start` on the same directory, so that what
// was done can be looked at over the API until Ctrl-C.
//
//   Q1. The store stays. A run that was interrupted, by Ctrl-C or kill -9, is finished by the next start; only when nothing
//       was left open does a start plan another trip.
//   Q2. stdout holds the deliverable and nothing else.
//   Q3. --fresh removes the store, but never one that another process is using.
//
// usage: node main.ts [--exit] [--resume] [--fresh] [--data DIR] [--port NUMBER]

import { existsSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative, sep } from "node:path";
import { parseArgs } from "node:util";
import { EXIT, type ExitCode, processTerminal, runCli, type Terminal } from "@tessera/cli";

const { values: flags } = parseArgs({
  options: {
    exit: { type: "boolean", default: false },
    resume: { type: "boolean", default: false },
    fresh: { type: "boolean", default: false },
    data: { type: "string", default: join(import.meta.dirname, "../../.tessera/quickstart") },
    port: { type: "string", default: "8099" },
  },
});
const BUNDLE = shown(import.meta.dirname);
const DATA = shown(flags.data);
const INPUT = "Porto";

interface TurnRow {
  readonly agent_turn_id: string;
  readonly parent_agent_turn_id: string | null;
  readonly created_at: string;
}

const terminal = processTerminal(process);

process.exitCode = await main();

async function main(): Promise<ExitCode> {
  if (flags.fresh && existsSync(DATA)) {
    const holder = await whoHolds();
    if (holder !== null) {
      terminal.err(`quickstart: ${holder}\n`);
      return EXIT.unreachable; // Q3
    }
    rmSync(DATA, { recursive: true });
  }
  const exitCode = await plan();
  return exitCode === EXIT.ok && !flags.exit ? await serve() : exitCode;
}

/** Null: nobody. Whatever else is wrong with the store, it is about to be removed. */
async function whoHolds(): Promise<string | null> {
  const { openStore } = await import("@tessera/runtime");
  try {
    const store = await openStore({ data: DATA, migrate: "no", onWarning: () => {}, onFatal: () => {} });
    await store.close();
    return null;
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "store_in_use" ? error.message : null;
  }
}

/** Q1 */
async function plan(): Promise<ExitCode> {
  terminal.err("Four agents plan a day trip. Interrupt them when you like: the next start goes on where they were.\n");
  if (flags.resume || existsSync(join(DATA, "store"))) {
    let hasDelivered = false;
    const out = (text: string) => {
      hasDelivered = true;
      terminal.out(text);
    };
    const exitCode = await tessera(["run", BUNDLE, "--resume", "--data", DATA], { ...terminal, out });
    if (exitCode !== EXIT.ok || hasDelivered || flags.resume) return exitCode;
  }
  return await tessera(["run", BUNDLE, "--input", INPUT, "--data", DATA], terminal);
}

/** Runs a command, and shows it. */
async function tessera(args: readonly string[], shownOn: Terminal): Promise<ExitCode> {
  terminal.err(`\n$ npx tessera ${args.join(" ")}\n`);
  return await runCli(args, shownOn);
}

async function serve(): Promise<ExitCode> {
  const port = (await isFree(Number(flags.port))) ? flags.port : "0";
  const out = (text: string) => {
    const { event, url } = JSON.parse(text);
    if (event === "started") void nextSteps(url, port !== flags.port).then(terminal.err);
  };
  const err = (text: string) => (text.includes('"level":"info"') ? undefined : terminal.err(text));
  return await runCli(["start", BUNDLE, "--data", DATA, "--port", port, "--json"], { ...terminal, out, err });
}

async function nextSteps(url: string, isTaken: boolean): Promise<string> {
  const turns = `${url}/projects/default/turns`;
  return `
The API is at ${url}${isTaken ? ` (port ${flags.port} is taken)` : ""}. In another terminal:

  npx tessera turns ls --data ${DATA}
  npx tessera turns show ${await lastTrip(turns)} --data ${DATA}
  curl -H "Authorization: Bearer $(cat ${DATA}/key)" ${turns}

Ctrl-C stops it. The next start plans another trip; with -- --fresh it begins with an empty store.
`;
}

/** The planner's newest turn: nobody asked for it but us. */
async function lastTrip(turns: string): Promise<string> {
  const headers = { authorization: `Bearer ${readFileSync(join(DATA, "key"), "utf8").trim()}` };
  const answer = (await (await fetch(turns, { headers })).json()) as { readonly turns: readonly TurnRow[] };
  const trips = answer.turns.filter((turn) => turn.parent_agent_turn_id === null);
  return trips.toSorted((a, b) => a.created_at.localeCompare(b.created_at)).at(-1)?.agent_turn_id ?? "TURN";
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}

/** A path as a person would type it here. */
function shown(path: string): string {
  const short = relative(process.cwd(), path);
  return short === ".." || short.startsWith(`..${sep}`) ? path : short || ".";
}
