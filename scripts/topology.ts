// The topology of deploy/compose.yaml on this machine, without containers: PostgreSQL, NATS, kernel, api, two workers, pmo, tools.
//
// usage: node scripts/topology.ts [--bundle DIR] [--dir DIR] [--port NUMBER] [--json]
//
// It prints where everything is and a key, and runs until Ctrl-C. Without --dir it leaves nothing behind.

import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { PROCESSES, type ProcessName, startTopology, type Topology } from "./topology/start-topology.ts";

const { values: flags } = parseArgs({
  options: {
    bundle: { type: "string", default: join(import.meta.dirname, "../examples/quickstart") },
    dir: { type: "string" },
    port: { type: "string", default: "8099" },
    json: { type: "boolean", default: false },
  },
});

const stopped = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => resolve());
});

try {
  if (!flags.json) console.log("starting PostgreSQL, NATS and six processes of tessera …");
  const topology = await startTopology({ bundle: flags.bundle, directory: flags.dir, port: Number(flags.port) });
  const facts = factsOf(topology);
  console.log(flags.json ? JSON.stringify({ ok: true, event: "started", ...facts }) : textOf(facts));
  await stopped;
  if (!flags.json) console.log("stopping, in order");
  await topology.stop();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function factsOf({ url, key, directory, postgres, nats, process: find }: Topology) {
  const names = Object.keys(PROCESSES) as ProcessName[];
  return {
    url,
    key,
    postgres: postgres.ownerUrl,
    nats: `nats://127.0.0.1:${nats.port}`,
    nats_env: join(directory, "nats.env"),
    directory,
    processes: Object.fromEntries(names.map((name) => [name, find(name).child.pid])),
  };
}

function textOf(facts: ReturnType<typeof factsOf>): string {
  const { processes, ...places } = facts;
  const rows = [...Object.entries(places), ...Object.entries(processes).map(([name, pid]) => [name, `process ${pid}`])];
  const bundle = relative(process.cwd(), flags.bundle) || ".";
  return `${rows.map(([name = "", value]) => `  ${name.padEnd(10)} ${value}`).join("\n")}

${bundle} is deployed. Give its planner a task:

  curl -sS ${facts.url}/projects/default/turns -H "Authorization: Bearer ${facts.key}" \\
    -H 'Content-Type: application/json' -d '{"agent":"planner","input":"Porto"}'

Ctrl-C stops everything, in order.`;
}
