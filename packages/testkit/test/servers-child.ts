// A child process of the server tests: starts both servers, prints their pids, and waits to be killed.

import { startNats } from "../src/servers/nats-server.ts";
import { startPostgres } from "../src/servers/postgres-server.ts";

const postgres = await startPostgres();
const nats = await startNats();
const directories = [postgres.directory, nats.directory];
process.stdout.write(`${JSON.stringify({ event: "started", pids: [postgres.pid, nats.pid], directories })}\n`);
setInterval(() => {}, 60_000);
