// Everything that `tessera doctor` looks at, in the order in which one thing needs the other.
//
//   D1. Looking changes nothing: no store is made, nothing is written to the database or the broker.
//   D2. Only what was named is looked at: a store, a broker and a server that were not named are no failure.
//   D3. A check that breaks is a failure of its own and hides none of the others.

import { systemClock } from "@tessera/engines/system";
import { TesseraError } from "@tessera/protocol";
import { API_HOST, API_PORT } from "../api/api-address.ts";
import { validateBundle } from "../validate/validate-bundle.ts";
import { checkBroker } from "./broker.ts";
import { type Check, type CheckArea, checksOf, saidBy } from "./check.ts";
import { checkIsolated, checkNode, checkPlatform, checkPort, checkShell } from "./machine.ts";
import { checkServer } from "./server.ts";
import { checkStore } from "./store.ts";

/** What {@link runDoctor} takes. */
export interface DoctorOptions {
  readonly data?: string | undefined;
  readonly postgres?: string | undefined;
  readonly nats?: string | undefined;
  /** A running API; then nothing here is asked to be one. */
  readonly url?: string | undefined;
  readonly apiKey?: string | undefined;
  readonly project: string;
  readonly host?: string | undefined;
  readonly port?: number | undefined;
  readonly bundle?: string | undefined;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly node: { readonly version: string; readonly path: string };
}

interface Look {
  readonly area: CheckArea;
  readonly run: () => Check | Promise<Check | readonly Check[]>;
}

/** Looks at a store and at what works on it, as `tessera doctor` does. */
export async function runDoctor(options: DoctorOptions): Promise<Check[]> {
  const { url, nats, bundle, env, node } = options;
  const looks: Look[] = [
    { area: "machine", run: () => checkNode(node.version, node.path) },
    { area: "machine", run: () => checkPlatform() },
    { area: "machine", run: () => checkIsolated(systemClock, env) },
    { area: "machine", run: () => checkShell(systemClock) },
  ];
  const isServing = url === undefined || options.port !== undefined;
  if (isServing) looks.push({ area: "api", run: () => checkPort(options.host ?? API_HOST, options.port ?? API_PORT) });
  if (url !== undefined) looks.push({ area: "api", run: () => checkServer(url, options.apiKey, options.project) });
  const isServers = url !== undefined && options.data === undefined && options.postgres === undefined;
  let storeId: string | null = null;
  const hearStoreId = (id: string) => {
    storeId = id;
  };
  looks.push({ area: "store", run: () => (isServers ? storeOfServer() : checkStore(options, hearStoreId)) });
  const { project } = options;
  if (nats !== undefined) looks.push({ area: "broker", run: () => checkBroker(nats, { project, storeId }) }); // D2
  if (bundle !== undefined) looks.push({ area: "bundle", run: () => checkBundle(bundle, env) });
  const checks: Check[] = [];
  for (const look of looks) checks.push(...(await safely(look)));
  return checks;
}

/** D3 */
async function safely({ area, run }: Look): Promise<Check[]> {
  try {
    return [await run()].flat() as Check[];
  } catch (error) {
    const fix = TesseraError.is(error) ? "Correct what is named." : "Report it with the command that was run.";
    return [checksOf(area).wrong(area, saidBy(error), fix)];
  }
}

async function checkBundle(path: string, env: DoctorOptions["env"]): Promise<Check[]> {
  const bundle = checksOf("bundle");
  const { counts, findings } = await validateBundle(path, { env });
  const mistakes = findings.filter(({ severity }) => severity === "error");
  const held = `${several(counts.agents, "agent")}, ${several(counts.tools, "tool")}`;
  const missing = findings.filter(({ code }) => code === "env_missing");
  return [
    mistakes.length === 0
      ? bundle.ok("bundle", `${held}: no mistakes`)
      : bundle.wrong("bundle", `${held}: ${several(mistakes.length, "mistake")}`, `Run \`tessera validate ${path}\`.`),
    ...missing.map(({ file, line, column, message }) =>
      bundle.warn("environment", `${file}:${line}:${column}: ${message}`, "Set it where the workers and tools run."),
    ),
  ];
}

/** D2: what only the server knows is left to it, and that is said. */
function storeOfServer(): Check {
  const left = "its database, schema, broker, workers and stored keys were not looked at";
  return checksOf("store").ok("store", `left to the server: ${left}; run doctor where it runs, with its store`);
}

function several(count: number, name: string): string {
  return `${count} ${name}${count === 1 ? "" : "s"}`;
}
