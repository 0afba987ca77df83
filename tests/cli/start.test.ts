// `tessera start`: what it prints, what it refuses, and how it stops.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { TESSERA } from "./run-tessera.ts";
import { writeBundle } from "./tools-bundle.fixture.ts";

const SLOW_MS = 60_000;
let directory = "";
let bundle = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-start-"));
  bundle = join(directory, "bundle");
  mkdirSync(bundle);
  writeBundle(bundle);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  "prints as JSON lines that it started and that it stops; meanwhile its store is reached through it, and its port is taken",
  async () => {
    const data = join(directory, "store");
    const args = ["start", bundle, "--data", data, "--port", "0", "--json"];
    const child = spawn(process.execPath, [TESSERA, ...args], { stdio: ["ignore", "pipe", "pipe"] });
    const exit = once(child, "exit");
    const log = text(child.stderr);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const started = JSON.parse((await lines.next()).value ?? "null");
    expect(started).toMatchObject({ ok: true, event: "started", tools: ["demo__echo", "demo__fail", "demo__hang"] });
    expect(started.key).toMatch(/^tsl_/);
    expect((await fetch(`${started.url}/health`)).status).toBe(200);

    const [held, again, taken] = await Promise.all([
      runHere(["tools", "ls", "--data", data]),
      runHere(["start", "--data", data, "--port", "0"]),
      runHere(["start", "--role", "api", "--data", join(directory, "other"), "--port", new URL(started.url).port]),
    ]);
    expect(held).toMatchObject({ exitCode: 0, err: "" });
    expect(held.out).toContain("demo__echo");
    expect(again).toMatchObject({ exitCode: 4, out: "" });
    expect(again.err).toContain(`process ${child.pid} holds the store in ${data}, and serves it at ${started.url}\n`);
    expect(started.health).toBe("ok");
    expect(taken).toMatchObject({ exitCode: 3, out: "" });
    expect(taken.err).toContain("another process listens there, which is a Tessera");
    expect(taken.err).toContain(`tessera run --url ${started.url}`);
    expect(taken.err).toContain("--port");

    child.kill("SIGINT");
    expect(JSON.parse((await lines.next()).value ?? "null")).toEqual({ ok: true, event: "stopping" });
    expect((await lines.next()).done).toBe(true);
    expect(await exit).toEqual([0, null]);
    for (const line of (await log).trimEnd().split("\n")) expect(JSON.parse(line)).toHaveProperty("level");
    expect(await log).not.toContain(started.key);
    expect(existsSync(join(data, "key"))).toBe(false);
  },
  SLOW_MS,
);
