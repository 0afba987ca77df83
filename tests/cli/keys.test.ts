// `tessera keys`: a key is made, listed without its secret, and revoked, by its id or by all of its text.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";

const SLOW_MS = 60_000;
let directory = "";
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-cli-keys-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

it(
  "a key is shown once, listed without its secret, and revoked by its id or its text",
  async () => {
    const store = ["--data", join(directory, "store")];
    const mistyped = await runHere(["keys", "create", "--role", "viewer", ...store]);
    expect(mistyped).toMatchObject({ exitCode: 3, out: "" });
    expect(mistyped.err).toContain("run `tessera migrate` to make one");
    expect((await runHere(["migrate", ...store])).exitCode).toBe(0);
    const made = await runHere(["keys", "create", "--role", "executor", "--target", "words", ...store]);
    expect(made.exitCode).toBe(0);
    expect(made.out).toMatch(/^tsk_[\w-]+\.[\w-]{43}\n$/);
    const key = made.out.trim();
    const id = key.slice("tsk_".length, key.indexOf("."));
    const secret = key.slice(key.indexOf(".") + 1);
    expect(made.err).toContain(`made key ${id}: executor of project default`);
    expect(made.err).not.toContain(secret);

    const revoked = await runHere(["keys", "rm", key, ...store]);
    expect(revoked).toEqual({ exitCode: 0, out: `revoked ${id}\n`, err: "" });
    const listed = await runHere(["keys", "ls", ...store]);
    expect(listed.out).toMatch(new RegExp(`^key_id .*\n${id} +executor +default +words +revoked `));
    expect(listed.out).not.toContain(secret);

    const unknown = await runHere(["keys", "rm", "nobody", ...store, "--json"]);
    expect(unknown).toMatchObject({ exitCode: 1, err: "" });
    expect(JSON.parse(unknown.out).error).toMatchObject({ code: "not_found", message: "this store has no key nobody" });
  },
  SLOW_MS,
);
