// --env-allow and TESSERA_ENV_ALLOW: which environment variables tools may be given.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { TESSERA } from "./run-tessera.ts";

const SLOW_MS = 60_000;
const BUNDLE = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: ask }
spec:
  entry: ./ask.mjs
  envs: { key: A_KEY }
  exports:
    - { name: key, description: Tells whether it has a key., parameters: { type: object, properties: { key: { type: string } } } }
`;
const upload = (variable: string) => `tool_name: search
description: Searches.
target_subject: cg.v1r4.{project_id}.{channel_id}.cmd.tool.search.web
after_execution: suspend
options: { envs: { key: ${variable} } }
parameters: { type: object, properties: { key: { type: string } } }
`;
const KEYS = { A_KEY: "a-secret-1234" };

let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-env-"));
  writeFileSync(join(directory, "tessera.yaml"), BUNDLE);
  writeFileSync(
    join(directory, "ask.mjs"),
    "export const handlers = { key: (_, { key }) => ({ has: key !== undefined }) };",
  );
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  "a call gives a tool the variables on the list and no others; the flag wins over the environment",
  async () => {
    const has = async (flags: readonly string[], env: Record<string, string> = {}) => {
      const ran = await runHere(["tools", "call", "ask__key", "--bundle", directory, ...flags], {
        env: { ...KEYS, ...env },
      });
      return JSON.parse(ran.out || JSON.stringify(ran)).has;
    };
    expect(
      await Promise.all([
        has([]),
        has(["--env-allow", "B_KEY,A_KEY"]),
        has(["--env-allow", "B_KEY"]),
        has(["--env-allow", ""]),
        has([], { TESSERA_ENV_ALLOW: "B_KEY" }),
        has(["--env-allow", "A_KEY"], { TESSERA_ENV_ALLOW: "B_KEY" }),
      ]),
    ).toEqual([true, true, false, false, false, true]);
    const wrong = await runHere(["tools", "call", "ask__key", "--bundle", directory, "--env-allow", "A KEY"]);
    expect(wrong).toMatchObject({ exitCode: 2, err: expect.stringContaining("--env-allow") });
  },
  SLOW_MS,
);

it(
  "the API refuses an upload that names another variable",
  async () => {
    const args = ["start", directory, "--data", join(directory, "store"), "--port", "0", "--json"];
    const child = spawn(process.execPath, [TESSERA, ...args, "--env-allow", "A_KEY"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    const exit = once(child, "exit");
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const { url, key, project } = JSON.parse((await lines.next()).value ?? "null");
    const send = (body: string) => {
      const headers = { authorization: `Bearer ${key}`, "content-type": "application/yaml" };
      return fetch(`${url}/projects/${project}/tools`, { method: "POST", headers, body });
    };
    const refused = await send(upload("B_KEY"));
    expect(await refused.json()).toMatchObject({ error_code: "env_not_allowed" });
    expect((await send(upload("A_KEY"))).ok).toBe(true);
    child.kill("SIGTERM");
    expect(await exit).toEqual([0, null]);
  },
  SLOW_MS,
);
