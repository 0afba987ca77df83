// The completion scripts, in the shells that are here.

import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { runTessera } from "./run-tessera.ts";

let directory = "";
let script = "";
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-completion-"));
  script = join(directory, "tessera.bash");
  writeFileSync(script, (await runTessera(["completion", "bash"])).out);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** What bash offers for the last of the words. */
function offered(...words: string[]): string[] {
  const quoted = ["tessera", ...words].map((word) => `'${word}'`).join(" ");
  const steps = [
    "compopt() { :; }", // it works only while bash itself completes
    `source '${script}'`,
    `COMP_WORDS=(${quoted})`,
    `COMP_CWORD=${words.length}`,
    "_tessera",
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ];
  const ran = spawnSync("bash", ["--norc", "-c", steps.join("\n")], { cwd: directory, encoding: "utf8" });
  expect({ status: ran.status, stderr: ran.stderr }).toEqual({ status: 0, stderr: "" });
  return ran.stdout.split("\n").filter((line) => line !== "");
}

describe("in bash", () => {
  it("completes commands and their subcommands", () => {
    expect(offered("tu")).toEqual(["turns"]);
    expect(offered("turns", "")).toEqual(expect.arrayContaining(["ls", "show", "tail", "why", "stop"]));
    expect(offered("keys", "c")).toEqual(["create"]);
    expect(offered("")).toEqual(expect.arrayContaining(["run", "validate", "doctor", "init", "completion"]));
  });

  it("completes flags, and the values of those that have a choice", () => {
    expect(offered("validate", "--f")).toEqual(["--format"]);
    expect(offered("validate", "--format", "")).toEqual(["text", "json", "github"]);
    expect(offered("keys", "create", "--role", "")).toEqual(["viewer", "operator", "executor", "admin"]);
    expect(offered("start", "--role", "wo")).toEqual(["worker"]);
    expect(offered("completion", "z")).toEqual(["zsh"]);
  });

  it("does not take the value of a flag for a command", () => {
    expect(offered("keys", "--data", "ls", "cr")).toEqual(["create"]);
  });

  it("completes files and directories where they are meant", () => {
    expect(offered("run", "tess")).toEqual(["tessera.bash"]);
    expect(offered("verify", "--data", "tess")).toEqual([]);
  });
});

it.each(["zsh", "fish"])("prints a script for %s that names every command", async (shell) => {
  const { exitCode, out, err } = await runHere(["completion", shell]);
  expect({ exitCode, err }).toEqual({ exitCode: 0, err: "" });
  for (const name of ["turns", "validate", "--strict", "executor"]) expect(out).toContain(name.replace(/^--/, ""));
  const check = spawnSync(shell, ["-n"], { input: out, encoding: "utf8" });
  if (check.error === undefined) expect(check.stderr).toBe(""); // where the shell is installed
});

it("refuses a shell that it does not know", async () => {
  const { exitCode, err } = await runHere(["completion", "powershell"]);
  expect(exitCode).toBe(2);
  expect(err).toContain("bash, zsh, fish");
});
