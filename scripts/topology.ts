// The topology of deploy/compose.yaml on this machine, without containers: PostgreSQL, NATS, kernel, api, two workers, pmo, tools.
//
// usage: node scripts/topology.ts [--bundle DIR] [--dir DIR] [--port NUMBER] [--json]
//
// It prints where everything is and a key, and runs until Ctrl-C or until its terminal is closed. Without --dir it leaves
// nothing behind.

import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { visibleText } from "@tessera/protocol";
import { endWithLauncher } from "../packages/cli/src/connect/launcher-watch.ts";
import { PROCESSES, type ProcessName, startTopology, type Topology } from "./topology/start-topology.ts";

const USAGE = `usage: npm run topology -- [--bundle DIR] [--dir DIR] [--port NUMBER] [--json]

PostgreSQL, NATS and six processes of tessera from the programs of this machine, until Ctrl-C.

  --bundle DIR   what the workers and tools load (default examples/quickstart)
  --dir DIR      where everything is kept (default: a temporary directory, removed at the end)
  --port NUMBER  where the API listens (default 8099; 0 takes any free one)
  --json         print JSON
`;
const PORT_MAX = 65_535;
const EXIT_USAGE = 2;

const stopped = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolve());
});
// A terminal that was closed takes no text any more: everything is stopped all the same.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

endWithLauncher();
const flags = readFlags();
if (flags === null) process.exitCode ??= 0;
else await run(flags);

/** Null: said what there is to say. */
function readFlags() {
  try {
    const { values } = parseArgs({
      options: {
        bundle: { type: "string", default: join(import.meta.dirname, "../examples/quickstart") },
        dir: { type: "string" },
        port: { type: "string", default: "8099" },
        json: { type: "boolean", default: false },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) {
      console.log(USAGE);
      return null;
    }
    if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > PORT_MAX) throw new TypeError("--port is no port");
    return values;
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    console.error(visibleText(`topology: ${error.message}\n\n${USAGE}`));
    process.exitCode = EXIT_USAGE;
    return null;
  }
}

async function run({ bundle, dir, port, json }: NonNullable<ReturnType<typeof readFlags>>): Promise<void> {
  try {
    if (!json) console.log("starting PostgreSQL, NATS and six processes of tessera …");
    const topology = await startTopology({ bundle, directory: dir, port: Number(port) });
    const facts = factsOf(topology);
    console.log(visibleText(json ? JSON.stringify({ ok: true, event: "started", ...facts }) : textOf(facts, bundle)));
    await stopped;
    if (!json) console.log("stopping, in order");
    await topology.stop();
  } catch (error) {
    console.error(visibleText(error instanceof Error ? error.message : String(error)));
    process.exitCode = 1;
  }
}

function factsOf({ url, key, directory, postgres, nats, process: find }: Topology) {
  const names = Object.keys(PROCESSES) as ProcessName[];
  return {
    url,
    key,
    entry: find("worker-1").started.entry ?? "AGENT",
    postgres: postgres.ownerUrl,
    nats: nats.urlOf("operator"),
    nats_env: join(directory, "nats.env"),
    directory,
    processes: Object.fromEntries(names.map((name) => [name, find(name).child.pid])),
  };
}

function textOf(facts: ReturnType<typeof factsOf>, bundle: string): string {
  const { processes, entry, nats_env, ...places } = facts;
  const rows = [
    ...Object.entries(places),
    ["nats_env", `${nats_env} (the password of every role's NATS user)`],
    ...Object.entries(processes).map(([name, pid]) => [name, `process ${pid}`]),
  ];
  const task = JSON.stringify({ agent: entry, input: "Porto" });
  return `${rows.map(([name = "", value]) => `  ${name.padEnd(10)} ${value}`).join("\n")}

${relative(process.cwd(), bundle) || "."} is deployed. In another terminal, give ${entry} a task and look at what happens:

  export TESSERA_URL=${facts.url} TESSERA_API_KEY=${facts.key}
  npx tessera run --url $TESSERA_URL --agent ${entry} --input Porto
  npx tessera turns ls
  npx tessera turns tail TURN

The same over HTTP:

  curl -sS $TESSERA_URL/projects/default/turns -H "Authorization: Bearer $TESSERA_API_KEY" \\
    -H 'Content-Type: application/json' -d '${task}'

Ctrl-C stops everything, in order.`;
}
