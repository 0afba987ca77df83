// The quick start: `npm start`. A swarm plans a day trip on an embedded store; no key, no service.
//
// It is the `tessera` command in this process: first `tessera run`, then `tessera start` on the same directory, so that what
// was done can be looked at over the API until Ctrl-C.
//
//   Q1. The store stays. A run that was interrupted, by Ctrl-C or kill -9, is finished by the next start; only when nothing
//       was left open does a start plan another trip.
//   Q2. stdout holds the deliverable and nothing else.
//   Q3. --fresh removes the store, but never one that another process is using.
//   Q4. What is printed for a person to do is a command of the quick start: `npm start`.

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join, relative, sep } from "node:path";
import {
  EXIT,
  type ExitCode,
  endWithLauncher,
  gated,
  type ProcessTerminal,
  processTerminal,
  quoted,
  runCli,
  type Text,
} from "@tessera/cli";
import { type Flags, readFlags } from "./flags.ts";
import { makeRoom, removeLeftovers } from "./fresh-store.ts";

const BUNDLE = shown(import.meta.dirname);
const INPUT = "Porto";

interface TurnRow {
  readonly agent_turn_id: string;
  readonly parent_agent_turn_id: string | null;
  readonly created_at: string;
  readonly ended_at: string | null;
}

endWithLauncher();
const terminal = processTerminal(process);
const screen = gated(terminal);
const given = readFlags(process.argv.slice(2));
process.exitCode = "says" in given ? tell(given.says, given.exitCode) : await main(given, shown(given.data));

function tell(says: Text, exitCode: ExitCode): ExitCode {
  if (exitCode === EXIT.ok) screen.out(says);
  else screen.err(says);
  return exitCode;
}

async function main(flags: Flags, data: string): Promise<ExitCode> {
  const holder = existsSync(data) ? await whoHolds(data) : null;
  if (holder !== null) return tell(holder, EXIT.unreachable); // Q3
  const isMade = flags.fresh || (!flags.resume && !existsSync(join(data, "store")));
  if (isMade) screen.err(`quickstart: making a store in ${data} …\n`);
  try {
    if (flags.fresh) makeRoom(data);
    else removeLeftovers(data);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    return tell(`quickstart: the old store cannot be removed: ${said}\n`, EXIT.configuration);
  }
  const exitCode = await plan(flags, data);
  return exitCode === EXIT.ok && !flags.exit ? await serve(flags, data) : exitCode;
}

/** Null: no process. Whatever else is wrong with the store is reported when it is opened. */
async function whoHolds(data: string): Promise<string | null> {
  const { findHolder } = await import("@tessera/runtime");
  const holder = await findHolder(data);
  if (holder === null) return null;
  const { pid, reached } = holder;
  if (reached === null) return `quickstart: process ${pid} is using ${data}; repeat when it has ended\n`;
  return `quickstart: it is up already, at ${reached.url}, with the store in ${data}
  look at it  npx tessera turns ls --data ${quoted(data)}
  stop it     press Ctrl-C in its terminal, or: kill ${pid}
`;
}

/** Q1 */
async function plan(flags: Flags, data: string): Promise<ExitCode> {
  screen.err([
    {
      line: ["Four agents plan a day trip. Interrupt them when you like: the next start goes on where they were."],
      hang: 0,
    },
  ]);
  const resumeCommand = `npm ${flags.exit ? "run demo" : "start"}${flags.isOwnData ? ` -- --data ${quoted(data)}` : ""}`; // Q4
  const shownOn = { ...terminal, resumeCommand };
  if (flags.resume || (existsSync(join(data, "store")) && (await isLeftOpen(data)))) {
    return await tessera(["run", BUNDLE, "--resume", "--data", data], shownOn);
  }
  return await tessera(["run", BUNDLE, "--input", INPUT, "--data", data], shownOn);
}

/** Whatever is wrong with the store is reported by the run that follows. */
async function isLeftOpen(data: string): Promise<boolean> {
  const answer: string[] = [];
  const heard = { ...terminal, out: (text: string) => void answer.push(text), err: () => undefined };
  const exitCode = await runCli(["turns", "ls", "--all", "--json", "--data", data], heard);
  if (exitCode !== EXIT.ok) return false;
  return (JSON.parse(answer.join("")).turns as readonly TurnRow[]).some(({ ended_at }) => ended_at === null);
}

/** Runs a command, and shows it. */
async function tessera(args: readonly string[], shownOn: ProcessTerminal): Promise<ExitCode> {
  screen.err(`\n$ npx tessera ${args.map(quoted).join(" ")}\n`);
  return await runCli(args, shownOn);
}

async function serve(flags: Flags, data: string): Promise<ExitCode> {
  const port = (await isFree(Number(flags.port))) ? flags.port : "0";
  const out = (text: string) => {
    const { event, url } = JSON.parse(text);
    // Told to stop at once, it has no key any more: then there is nothing to look at.
    if (event === "started")
      nextSteps(url, data, port === flags.port ? null : flags.port).then(screen.err, () => undefined);
  };
  const err: ProcessTerminal["err"] = (text) => (text.includes('"level":"info"') ? undefined : terminal.err(text));
  return await runCli(["start", BUNDLE, "--data", data, "--port", port, "--json"], { ...terminal, out, err });
}

async function nextSteps(url: string, data: string, taken: string | null): Promise<Text> {
  const turns = `${url}/projects/default/turns`;
  const key = join(data, "key");
  const commands = `
The API is at ${url}${taken === null ? "" : ` (port ${taken} is taken)`}. In another terminal:

  npx tessera turns ls --data ${quoted(data)}
  npx tessera turns show ${await lastTrip(turns, key)} --data ${quoted(data)}
  curl -H "Authorization: Bearer $(cat ${quoted(key)})" ${turns}

`;
  const more = "Ctrl-C stops it. The next start plans another trip; with -- --fresh it begins with an empty store.";
  return [commands, { line: [more], hang: 0 }];
}

/** The planner's newest turn: only this program asks for turns of it. */
async function lastTrip(turns: string, key: string): Promise<string> {
  const headers = { authorization: `Bearer ${readFileSync(key, "utf8").trim()}` };
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
