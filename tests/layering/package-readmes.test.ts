// Every package says in its README what lives there, what it may import (as scripts/layers.ts has it) and in which files to start.
// The READMEs that users get (client, tessera, tool) say the last two under "For contributors".

import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { LAYERS, PORTS_ONLY } from "../../scripts/layers.ts";

const packages = join(import.meta.dirname, "../../packages");
const names = readdirSync(packages).filter((name) => statSync(join(packages, name)).isDirectory());

/** What stands below a heading, up to the next one. */
function section(readme: string, heading: string): string {
  const [, text = ""] = new RegExp(`^##+ ${heading}\\n([\\s\\S]*?)(?=^#|$(?![\\s\\S]))`, "m").exec(readme) ?? [];
  return text.trim();
}

const readmeOf = (name: string) => readFileSync(join(packages, name, "README.md"), "utf8");
const NO_IMPORTS = "No other package";

it("every package of the layers is a folder, and the other way round", () => {
  expect(names.toSorted()).toEqual(Object.keys(LAYERS).toSorted());
});

describe.each(names)("the README of %s", (name) => {
  it("is there and says what lives in the package", () => {
    expect(existsSync(join(packages, name, "README.md"))).toBe(true);
    const [title, ...text] = readmeOf(name).split("\n");
    expect(title).toMatch(/^# \S/);
    expect(text.join("\n").slice(0, readmeOf(name).indexOf("\n## ")).trim().length).toBeGreaterThan(100);
  });

  it("names the imports that scripts/layers.ts allows, and no others", () => {
    const allowed = LAYERS[name] ?? [];
    const text = section(readmeOf(name), "May import");
    expect(text).toBe(allowed.length === 0 ? NO_IMPORTS : allowed.map((each) => `\`${each}\``).join(", "));
    const ports = PORTS_ONLY[name];
    if (ports !== undefined) expect(readmeOf(name)).toContain(`\`${ports}\``);
  });

  it("names three to six files to start with, in order, which are there", () => {
    const lines = section(readmeOf(name), "Where to start").split("\n");
    const steps = lines.map((line) => /^(\d+)\. \[?`([^`]+)`(?:\]\(([^)]+)\))?: \S/.exec(line));
    expect(steps.map((step) => Number(step?.[1]))).toEqual(lines.map((_, index) => index + 1));
    expect(lines.length).toBeGreaterThanOrEqual(3);
    expect(lines.length).toBeLessThanOrEqual(6);
    const files = steps.map((step) => step?.[2] ?? "");
    expect(files.filter((file) => !existsSync(join(packages, name, file)))).toEqual([]);
    expect(steps.filter((step) => step?.[3] !== undefined && step[3] !== step[2])).toEqual([]);
  });
});
