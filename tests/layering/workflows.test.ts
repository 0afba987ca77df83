// The workflows of the repository's host against what they call.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

const ROOT = join(import.meta.dirname, "../..");
const read = (file: string) => readFileSync(join(ROOT, file), "utf8");

interface Workflow {
  readonly jobs: Readonly<Record<string, Job>>;
}
interface Job {
  readonly strategy: { readonly matrix: { readonly shard?: readonly number[]; readonly include?: readonly Part[] } };
  readonly steps: readonly { readonly run?: string }[];
}
interface Part {
  readonly run: string;
}

const runsOf = (file: string) => {
  const { jobs } = parse(read(`.github/workflows/${file}`)) as Workflow;
  return Object.values(jobs).flatMap(({ steps, strategy }) => [
    ...steps.flatMap(({ run }) => run ?? []),
    ...(strategy.matrix.include ?? []).map(({ run }) => run),
  ]);
};

describe("the workflows", () => {
  it("run for each change exactly what a contributor runs, shard by shard until all are run", () => {
    const { jobs } = parse(read(".github/workflows/ci.yml")) as Workflow;
    const shards = jobs.test?.strategy.matrix.shard ?? [];
    const last = shards.length;
    expect(shards).toEqual(Array.from({ length: last }, (_, n) => n + 1));
    expect(runsOf("ci.yml")).toContain(`bash .ci/run --shard=\${{ matrix.shard }}/${last}`);
    expect(read(".ci/run")).toMatch(/^npm ci && npm test -- "\$@"$/m);
  });

  it("name only scripts and test projects that there are", () => {
    const { scripts } = JSON.parse(read("package.json")) as { readonly scripts: Record<string, string> };
    const runs = readdirSync(join(ROOT, ".github/workflows")).flatMap(runsOf);
    const named = runs.flatMap((run) => [...run.matchAll(/npm run (\S+)/g)].map(([, name = ""]) => name));
    expect(named.length).toBeGreaterThan(0);
    expect(named.filter((name) => scripts[name] === undefined)).toEqual([]);
    const projects = runs.flatMap((run) => [...run.matchAll(/--project (\S+)/g)].map(([, name = ""]) => name));
    expect(projects.filter((name) => !read("vitest.config.ts").includes(`project("${name}"`))).toEqual([]);
  });
});
