import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { runCommand } from "../test/test-terminal.ts";

const STORE = ["--data", "nowhere"];

it.each([
  [["tools", "call"], 2, "name the tool to call"],
  [["tools", "call", "x", "--turn", "t"], 2, "and not both"],
  [["tools", "call", "x", "--wait", "soon"], 2, '--wait must be a number from 0 to 86400; it is "soon"'],
  [["tools", "call", "x", "--agent", "a b"], 2, "--agent must be 1 to 64 letters"],
  [["tools", "call", "x", "--arguments", "[1]"], 2, "found a list"],
  [["tools", "call", "x", "--arguments", '{"a":'], 2, "ends too early"],
  [["tools", "call", "x", "--arguments", "-"], 2, "stdin: it is empty"],
  [["tools", "call", "x", "--arguments", "@nowhere.json"], 3, "cannot read nowhere.json: ENOENT"],
  [["tools", "call", "--turn", "t"], 3, "no store was given"],
  [["tools", "ls", "--project", "a b", ...STORE], 2, "--project must be 1 to 64 letters"],
  [["tools", "register", "nowhere.yaml", ...STORE], 3, "cannot read nowhere.yaml: ENOENT"],
  [["keys", "create", "--role", "boss", ...STORE], 2, "--role must be one of viewer, operator, executor, admin"],
  [["keys", "create", "--role", "executor", ...STORE], 2, "needs at least one --target"],
  [["keys", "create", "--role", "executor", "--target", "a b", ...STORE], 2, "--target must be 1 to 64 letters"],
  [["keys", "create", "--role", "viewer", "--target", "a", ...STORE], 2, "only an executor has a --target"],
  [
    ["keys", "create", "--role", "admin", "--expires-days", "soon", ...STORE],
    2,
    "--expires-days must be a whole number",
  ],
  [["run", "bundle"], 2, "give the task with --input TEXT"],
  [["run", "bundle", "--input", "x", "--resume"], 2, "and not both"],
  [["run", "bundle", "--resume", "--agent", "a"], 2, "--agent, --instance and --fresh go with --input"],
  [["run", "bundle", "--input", "x", "--wait", "long"], 2, "--wait must be a number from 0 to 86400"],
  [["run", "bundle", "--resume"], 3, "no store was given"],
  [["dev", "--port", "x"], 2, "--port must be a whole number from 0 to 65535"],
  [["start", "--role", "tols", ...STORE], 2, 'separated by commas; it is "tols"'],
  [["start", "--port", "70000", ...STORE], 2, "--port must be a whole number from 0 to 65535"],
  [["start", "--builtins", "bsh", ...STORE], 2, "--builtins must be a list of agents, bash, "],
  [["start", "bundle", "--role", "api", ...STORE], 2, "a bundle is for the roles worker and tools"],
  [["start"], 3, "no store was given"],
  [["dev", "--log-level", "loud"], 2, "--log-level must be"],
  [["run", "bundle", "--input", "x", "--concurrency", "0"], 2, "--concurrency must be a whole number from 1"],
  [["turns", "ls", "--status", "done", ...STORE], 2, "--status must be one of queued, active"],
  [["turns", "ls", "--limit", "0", ...STORE], 2, "--limit must be a whole number from 1"],
  [["turns", "tail", "t", "--wait", "x", ...STORE], 2, "--wait must be a number"],
  [["turns", "why", "t", ...STORE], 3, "there is no store in it"],
  [["turns", "ls"], 3, "or the --url of a running server, or set TESSERA_DATA, TESSERA_POSTGRES or TESSERA_URL"],
  [["cards", "show", "a b", ...STORE], 2, "<card-id> must be 1 to 64 letters"],
  [["keys", "create", "--role", "viewer", ...STORE], 3, "run `tessera migrate` to make one"],
  [["run", "bundle", "--input", "x", "--url", "http://127.0.0.1:1"], 2, "which has its own bundle"],
  [["run", "--input", "x", "--url", "127.0.0.1:8099"], 2, "--url must be a URL like http://127.0.0.1:8099"],
  [["turns", "ls", "--url", "http://127.0.0.1:1"], 3, "there is no key for the server"],
  [["turns", "ls", "--url", "http://127.0.0.1:1", ...STORE], 2, "leave out --data"],
])("%j exits %i before anything is made: %s", { timeout: 30_000 }, async (args, exitCode, message) => {
  const told = await runCommand(...args);
  expect(told).toMatchObject({ exitCode, out: "" });
  expect(told.err).toContain(message);
  expect(told.err).toMatch(/\n {2}code {8}\S+\n {2}what to do {2}\S.*\n$/);

  const json = await runCommand(...args, "--json");
  expect(json).toMatchObject({ exitCode, err: "" });
  expect(JSON.parse(json.out)).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } });
  expect(existsSync("nowhere")).toBe(false);
});
