// DBOS Transact: a workflow with one step, in the caller's process. There is no hop to another process; its queues, which
// have one, are polled and slower.

import { DBOS } from "@dbos-inc/dbos-sdk";
import { needed, role } from "../programs/program.ts";
import { measureEmbeddedPeer } from "./peer-load.mjs";

const echo = DBOS.registerStep(async (args) => args, { name: "echo" });
const agent = DBOS.registerWorkflow(async (args) => (await echo(args)).text, { name: "agent" });
DBOS.setConfig({
  name: "bench",
  systemDatabaseUrl: needed("postgres"),
  systemDatabasePoolSize: 20,
  logLevel: "error",
  applicationVersion: "1",
  executorID: role,
});
await DBOS.launch();
await measureEmbeddedPeer(() => agent({ tool: "echo", text: "hello world" }));
if (role === "main") process.exit(0);
