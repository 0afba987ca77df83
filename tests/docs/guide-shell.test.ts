// The shell of guides itself: a failure in a block is seen, what a reader sets is kept, and nothing is left running.

import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { GuideShell } from "./guide-shell.ts";

describe("the shell of a guide", () => {
  const base = mkdtempSync(join(tmpdir(), "tessera-guide-shell-"));
  let shell: GuideShell;
  const open = () => new GuideShell({ directory: base, scratch: base, env: { PATH: process.env.PATH ?? "" } });
  beforeAll(() => {
    shell = open();
  });
  afterAll(async () => {
    await shell.close();
    rmSync(base, { recursive: true, force: true });
  });

  it("keeps variables, functions and the directory from block to block", async () => {
    await shell.run("KEY=abc; say() { echo $1-$KEY; }; mkdir below && cd below");
    expect(await shell.run("say x; basename $PWD")).toEqual({ status: 0, output: "x-abc\nbelow\n" });
  });

  it("sees a command that fails in the middle of a block", async () => {
    expect((await shell.run("true\nsh -c 'exit 5'\ntrue")).status).toBe(5);
    expect((await shell.run("if false; then true; fi\nfalse || true")).status).toBe(0);
  });

  it("shows what goes to stderr, too, in its place", async () => {
    expect((await shell.run("echo a; echo b >&2; echo c")).output).toBe("a\nb\nc\n");
  });

  it("ended, takes what runs in the background with it", async () => {
    const other = open();
    await other.run(`sleep 600 & echo $! > ${base}/pid`);
    const pid = Number(readFileSync(join(base, "pid"), "utf8"));
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    await other.close();
    await waitFor(() => !isRunning(pid), { what: "the end of the background process" });
  });
});

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return !readFileSync(`/proc/${pid}/stat`, "utf8").includes(") Z ");
  } catch {
    return false;
  }
}
