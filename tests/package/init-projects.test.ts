// What `tessera init` writes, used as a person would: installed from the registry, checked, tested, run.

import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { emptyDirectory, userEnvironment } from "./installed-project.ts";

const SLOW_MS = 300_000;
const INSTALL = ["install", "--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
const SCHEMA = /^# yaml-language-server: \$schema=(\S+)$/gm;

async function shell(): Promise<(cwd: string, command: string, ...args: string[]) => string> {
  const env = await userEnvironment();
  return (cwd, command, ...args) => {
    try {
      return execFileSync(command, args, { cwd, env, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] });
    } catch (error) {
      const { stdout, stderr } = error as { stdout: string; stderr: string };
      throw new Error(`${command} ${args.join(" ")} failed:\n${stdout}${stderr}`);
    }
  };
}

it(
  "each template is a project whose types, tests and bundle are right as soon as it is installed, and whose mistakes are found",
  async () => {
    const run = await shell();
    const base = emptyDirectory();
    const projects = ["minimal", "multi-agent", "service"].map((template) => ({ template, at: join(base, template) }));
    const minimal = join(base, "minimal");
    run(base, "npx", "--yes", "@tessera/tessera", "init", "minimal");
    run(minimal, "npm", ...INSTALL);
    for (const { template, at } of projects.slice(1)) {
      run(minimal, "npx", "tessera", "init", at, "--template", template);
    }
    let modules = join(minimal, "node_modules");
    for (const { template, at } of [...projects.slice(1), ...projects.slice(0, 1)]) {
      renameSync(modules, join(at, "node_modules")); // the same dependencies: what npm would install again
      modules = join(at, "node_modules");
      expect(run(at, "npm", "run", "check"), template).toContain("no mistakes");
      expect(run(at, "npm", "test"), template).toMatch(/^(?:#|ℹ) fail 0$/m);
      expectSchemas(at);
    }
    expect(run(minimal, "npx", "tessera", "run", ".", "--input", "hello world")).toBe('Words in "hello world": 2.\n');

    const change = (file: string, from: string, to: string) =>
      writeFileSync(join(minimal, file), readFileSync(join(minimal, file), "utf8").replace(from, to));
    change("tools/words.ts", "logger.info", "logger.inform");
    expect(() => run(minimal, "npm", "run", "check")).toThrow(/words\.ts.*inform/);
    change("tools/words.ts", "logger.inform", "logger.info");
    change("tessera.yaml", "effect: read", "efect: read");
    expect(() => run(minimal, "npm", "run", "check")).toThrow(/tessera\.yaml:\d+:\d+.*did you mean `?effect/);
  },
  SLOW_MS,
);

it(
  "a package in which Tessera was installed first becomes the same project",
  async () => {
    const run = await shell();
    const at = emptyDirectory();
    run(at, "npm", "init", "-y");
    run(at, "npm", ...INSTALL, "@tessera/tessera");
    const said = run(at, "npx", "tessera", "init", ".");
    expect(said).toContain("package.json   (was there; what was missing is added)");
    expect(said).toMatch(/Next:\n {2}npm install\n/);
    run(at, "npm", ...INSTALL);
    expect(run(at, "npm", "run", "check")).toContain("no mistakes");
    expect(run(at, "npm", "test")).toMatch(/^(?:#|ℹ) fail 0$/m);
    expectSchemas(at);
  },
  SLOW_MS,
);

/** One for each resource of the file, and there. */
function expectSchemas(at: string): void {
  const text = readFileSync(join(at, "tessera.yaml"), "utf8");
  const schemas = [...text.matchAll(SCHEMA)].map(([, path = ""]) => path);
  expect(text.startsWith("# yaml-language-server")).toBe(true);
  expect(schemas).toHaveLength(text.match(/^kind:/gm)?.length ?? 0);
  expect(schemas.filter((path) => !existsSync(join(at, path)))).toEqual([]);
}
