// The README against what it speaks of. Its two commands are run elsewhere: npm test is this run, npm start is tests/cli/quickstart.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import config from "../../vitest.config.ts";
import { ROOT } from "./run-guide.ts";

const read = (file: string) => readFileSync(join(ROOT, file), "utf8");
const readme = read("README.md");
const found = (text: string, pattern: RegExp) => [...new Set([...text.matchAll(pattern)].map(([, name = ""]) => name))];

describe("README.md", () => {
  it("begins with the two commands that have to work", () => {
    const [screen = ""] = readme.split("\n## ");
    expect(screen).toContain("npm ci && npm start ");
    expect(screen).toContain("npm ci && npm test ");
  });

  it("shows the plan that the executed guide shows", () => {
    const plan = /^A day in Porto\n(?:- .*\n){3}/m;
    expect(plan.exec(readme)?.[0]).toBe(plan.exec(read("docs/guides/quick-start.md"))?.[0]);
  });

  it("names every command, and none that is not there", () => {
    const there = new Set(found(read("docs/reference/cli.md"), /^## tessera (.+)$/gm));
    const [block = ""] = /## The command\n\n```sh\n[\s\S]*?```/.exec(readme) ?? [];
    const named = block
      .split("\n")
      .filter((line) => line.startsWith("npx tessera "))
      .flatMap((line) => line.replace("npx tessera ", "").replace(/#.*/, "").split(", "))
      .flatMap((text) => {
        const [command = "", words = ""] = text.trim().split(/\s+/);
        return /^[a-z|]+$/.test(words) ? words.split("|").map((word) => `${command} ${word}`) : [command];
      });
    expect([...named, "validate"].toSorted()).toEqual([...there].toSorted());
    expect(block).toContain("validate");
  });

  it("has a row for every test project", () => {
    const projects = config.test?.projects?.map((project) => (project as { test: { name: string } }).test.name);
    expect(found(readme, /^\| `npx vitest run --project (\w+)`/gm).toSorted()).toEqual(projects?.toSorted());
  });
});
