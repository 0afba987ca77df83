// nats-server with deploy/nats.conf as it is: the environment of the file, a free port of this machine, a store of its own.
//
//   N1. Passwords reach the server by its environment, never by a command line that others can list.

import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { freePort } from "../../packages/testkit/src/free-port.ts";
import { findNats } from "../../packages/testkit/src/server-binaries.ts";
import { ServerProcess } from "../../packages/testkit/src/server-process.ts";
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
  /** With the user's name and password. */
  urlOf(user: string): string;
  stop(): Promise<void>;
}

export async function startLocalNats(directory: string): Promise<LocalNats> {
  const passwords = new Map<string, string>();
  const lines = [`TESSERA_NATS_STORE=${JSON.stringify(join(directory, "nats"))}`];
  for (const [, variable, name = ""] of readFileSync(NATS_CONF, "utf8").matchAll(PASSWORD_VARIABLE)) {
    const password = `p${randomBytes(18).toString("base64url")}`; // the file reads what starts with a digit as a number
    passwords.set(name.toLowerCase(), password);
    lines.push(`${variable}=${password}`);
  }
  mkdirSync(directory, { recursive: true });
  const environment = join(directory, "nats.env");
  writeFileSync(environment, `${lines.join("\n")}\n`, { mode: 0o600 }); // N1
  for (let attempt = 1; ; attempt++) {
    const port = await freePort();
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
    if (server.isRunning) {
      return {
        port,
        pid: server.pid,
        users: [...passwords.keys()],
        urlOf: (user) => `nats://${user}:${passwords.get(user)}@127.0.0.1:${port}`,
        stop: () => server.end("SIGTERM"),
      };
    }
    const isTaken = server.output.includes("address already in use");
    if (!isTaken || attempt >= PORT_ATTEMPTS_MAX) throw new Error(`nats-server did not start:\n${server.output}`);
  }
}

/** A NATS server speaks first. */
async function greets(port: number): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  try {
    const [chunk] = (await once(socket, "data")) as [Buffer];
    return chunk.toString().startsWith("INFO ");
  } finally {
    socket.destroy();
  }
}
