// The servers that only peers need: Redis from the system, Restate from its npm package. On loopback, in directories of their
// own, gone when the program has ended.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort } from "../packages/testkit/src/servers/free-port.ts";
import { ServerProcess } from "../packages/testkit/src/servers/server-process.ts";
import { waitFor } from "../packages/testkit/src/wait-for.ts";
import type { OwnServer } from "./servers.ts";

const START_MS_MAX = 60_000;
const PEERS = join(import.meta.dirname, "peers");

export async function startRedis(): Promise<OwnServer> {
  const port = await freePort();
  return await start({
    name: "redis",
    command: (directory) => [
      "redis-server",
      ...["--bind", "127.0.0.1", "--port", String(port), "--dir", directory],
      ...["--appendonly", "yes", "--appendfsync", "always", "--save", ""],
    ],
    isUp: (output) => output.includes("Ready to accept connections"),
    url: `redis://127.0.0.1:${port}`,
  });
}

export async function startRestate(): Promise<OwnServer> {
  const [node, ingress, admin] = [await freePort(), await freePort(), await freePort()];
  const config = `
disable-telemetry = true
log-filter = "error"
bind-address = "127.0.0.1:${node}"
advertised-address = "http://127.0.0.1:${node}"
[ingress]
bind-address = "127.0.0.1:${ingress}"
[admin]
disable-web-ui = true
bind-address = "127.0.0.1:${admin}"
`;
  return await start({
    name: "restate",
    command(directory) {
      const file = join(directory, "restate.toml");
      writeFileSync(file, config);
      return [restateProgram(), "--base-dir", directory, "--node-name", "bench", "--config-file", file];
    },
    isUp: async () => (await fetch(`http://127.0.0.1:${admin}/health`)).ok,
    url: `http://127.0.0.1:${ingress},http://127.0.0.1:${admin}`,
  });
}

function restateProgram(): string {
  const name = `@restatedev/restate-server-${process.platform}-${process.arch}`;
  return join(
    dirname(createRequire(join(PEERS, "package.json")).resolve(`${name}/package.json`)),
    "bin/restate-server",
  );
}

async function start(server: {
  readonly name: string;
  readonly command: (directory: string) => readonly string[];
  readonly isUp: (output: string) => boolean | Promise<boolean>;
  readonly url: string;
}): Promise<OwnServer> {
  const { name, isUp, url } = server;
  const directory = mkdtempSync(join(tmpdir(), `tessera-${name}-`));
  const started = await ServerProcess.start({
    command: server.command(directory),
    directory,
    orphanSignal: "KILL",
    garbage: directory,
  });
  const condition = async () => !started.isRunning || (await isUp(started.output));
  await waitFor(condition, { what: `${name} to answer`, timeoutMs: START_MS_MAX });
  if (!started.isRunning) throw new Error(`${name} did not start: ${started.output}`);
  return {
    url,
    async stop() {
      await started.end("SIGKILL");
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
