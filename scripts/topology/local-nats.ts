// nats-server with deploy/nats.conf as it is: the environment of the file, a free port of this machine, a store of its own.
//
//   N1. Passwords reach the server by its environment, never by a command line that others can list.
//   N2. A restart keeps port, users and store; `wipe` loses every stream and consumer, as a replaced broker would. With SIGKILL it
//       has no time to write anything.

import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "../../packages/testkit/src/servers/free-port.ts";
import { greets } from "../../packages/testkit/src/servers/nats-server.ts";
import { findNats } from "../../packages/testkit/src/servers/server-binaries.ts";
import { ServerProcess } from "../../packages/testkit/src/servers/server-process.ts";
import { waitFor } from "../../packages/testkit/src/wait-for.ts";

export const NATS_CONF = join(import.meta.dirname, "../../deploy/nats.conf");
const PASSWORD_VARIABLE = /\$(TESSERA_NATS_([A-Z]+)_PASSWORD)/g;
const WITH_ENVIRONMENT = 'set -a; . "$1"; set +a; shift; exec "$@"';
const START_MS_MAX = 10_000;
const PORT_ATTEMPTS_MAX = 5;

export interface LocalNats {
  readonly port: number;
  readonly pid: number;
  readonly users: readonly string[];
  /** With the user's name and password; `port` where something stands between. */
  urlOf(user: string, port?: number): string;
  /** N2 */
  restart(options?: { readonly wipe?: boolean; readonly signal?: "SIGTERM" | "SIGKILL" }): Promise<void>;
  /** Stops it for a moment without ending it, and lets it go on. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function startLocalNats(directory: string): Promise<LocalNats> {
  const passwords = new Map<string, string>();
  const store = join(directory, "nats");
  const lines = [`TESSERA_NATS_STORE=${JSON.stringify(store)}`];
  for (const [, variable, name = ""] of readFileSync(NATS_CONF, "utf8").matchAll(PASSWORD_VARIABLE)) {
    const password = `p${randomBytes(18).toString("base64url")}`; // the file reads what starts with a digit as a number
    passwords.set(name.toLowerCase(), password);
    lines.push(`${variable}=${password}`);
  }
  mkdirSync(directory, { recursive: true });
  const environment = join(directory, "nats.env");
  writeFileSync(environment, `${lines.join("\n")}\n`, { mode: 0o600 }); // N1
  let { server, port } = await launchAnywhere(directory, environment);
  return {
    get port() {
      return port;
    },
    get pid() {
      return server.pid;
    },
    users: [...passwords.keys()],
    urlOf: (user, through = port) => `nats://${user}:${passwords.get(user)}@127.0.0.1:${through}`,
    restart: async ({ wipe = false, signal = "SIGTERM" } = {}) => {
      await server.end(signal);
      if (wipe) rmSync(store, { recursive: true, force: true });
      server = await launch(directory, environment, port);
      if (!server.isRunning) throw notStarted(server);
    },
    pause: () => server.signal("SIGSTOP"),
    resume: () => server.signal("SIGCONT"),
    stop: async () => {
      server.signal("SIGCONT"); // a paused process hears nothing
      await server.end("SIGTERM");
    },
  };
}

async function launchAnywhere(
  directory: string,
  environment: string,
): Promise<{ readonly server: ServerProcess; readonly port: number }> {
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
    const server = await launch(directory, environment, port);
    if (server.isRunning) return { server, port };
    const isTaken = server.output.includes("address already in use");
    if (!isTaken || attempt >= PORT_ATTEMPTS_MAX) throw notStarted(server);
  }
}

/** Resolves when it answers or has ended. */
async function launch(directory: string, environment: string, port: number): Promise<ServerProcess> {
  const server = await ServerProcess.start({
    command: [
      ...["/bin/sh", "-c", WITH_ENVIRONMENT, "sh", environment],
      ...[findNats(), "-c", NATS_CONF, "-a", "127.0.0.1", "-p", String(port)],
    ],
    directory,
    orphanSignal: "KILL",
  });
  const isUp = async () => !server.isRunning || (await greets(port));
  await waitFor(isUp, { what: "nats-server to answer", timeoutMs: START_MS_MAX });
  return server;
}

function notStarted(server: ServerProcess): Error {
  return new Error(`nats-server did not start:\n${server.output}`);
}
