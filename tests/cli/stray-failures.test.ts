// What tools and extensions leave behind: rejections without a handler, throws in timers. Real processes, because a
// listener of the test runner would hear them first.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { ROOT, runNode, runTessera } from "./run-tessera.ts";

const SLOW_MS = 120_000;
let directory = "";

const YAML = `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: script }
spec:
  provider: scripted
  options:
    rules:
      - { when: { step: 0 }, reply: { toolCalls: [{ name: inline__rejects, arguments: {} }, { name: inline__throws, arguments: {} }] } }
      - { when: { step: 1 }, reply: { toolCalls: [{ name: inline__waits, arguments: {} }] } }
      - { when: { step: 2 }, reply: { text: "still here" } }
---
apiVersion: goondan.ai/v1
kind: Extension
metadata: { name: careless }
spec: { entry: ./careless.ts }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: planner }
spec:
  modelConfig: { modelRef: Model/script }
  prompt: { system: "You do what you are told." }
  tools: [{ ref: Tool/inline }]
  extensions: [{ ref: Extension/careless }]
---
apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: inline }
spec:
  entry: ./inline.ts
  placement: inline
  exports:
    - { name: rejects, description: R., effect: read, parameters: { type: object, properties: {} } }
    - { name: throws, description: T., effect: read, parameters: { type: object, properties: {} } }
    - { name: waits, description: W., effect: once, parameters: { type: object, properties: {} } }
`;

const INLINE = `
void Promise.reject(new Error("left by the module"));
export const handlers = {
  rejects: () => { void Promise.reject(new Error("left by rejects")); return "a"; },
  throws: () => { setTimeout(() => { throw new Error("left by throws"); }, 1); return new Promise((done) => setTimeout(done, 50, "b")); },
  waits: () => { setTimeout(() => { throw new Error("nobody will answer"); }, 1); return new Promise(() => undefined); },
};
`;

const CARELESS = `
export function register(api) {
  api.logger.info("registered with %s", "care");
  void Promise.reject(new Error("left by register"));
  api.pipeline.register("turn", async (ctx) => {
    setTimeout(() => { throw new Error("left by the turn layer"); }, 1);
    api.logger.warn("a turn begins");
    return await ctx.next();
  });
  api.pipeline.register("step", async (ctx) => {
    void Promise.reject(new Error("left by the step layer"));
    return await ctx.next();
  });
}
`;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-strays-"));
  writeFileSync(join(directory, "tessera.yaml"), YAML);
  writeFileSync(join(directory, "inline.ts"), INLINE);
  writeFileSync(join(directory, "careless.ts"), CARELESS);
});

afterAll(() => {
  rmSync(directory, { recursive: true, force: true });
});

it(
  "nothing that a tool or an extension leaves behind ends the host: each is reported with its name, and the turn goes on",
  async () => {
    const { exitCode, out, err } = await runTessera(["run", directory, "--input", "go"]);
    expect([out, exitCode], err).toEqual(["still here\n", 0]);
    const told = [
      /the module inline\.ts left a failure behind that nobody awaited: Error: left by the module/,
      /the tool inline__rejects left a failure behind that nobody awaited \(call .+\): Error: left by rejects\n\s+at /,
      /the tool inline__throws left a failure behind that nobody awaited \(call .+\): Error: left by throws/,
      /the tool inline__waits left a failure behind .+: Error: nobody will answer/,
      /the extension careless left a failure behind that nobody awaited: Error: left by register/,
      /the extension careless left a failure behind that nobody awaited: Error: left by the turn layer/,
      /the extension careless left a failure behind that nobody awaited: Error: left by the step layer/,
      /info {2}registered with care/,
      /warn {2}a turn begins/,
    ];
    for (const line of told) expect(err).toMatch(line);
  },
  SLOW_MS,
);

const PROGRAM = `
import { createTessera, defineTool, defineAgent, defineModel } from "${join(ROOT, "packages/runtime/src/index.ts")}";
const leaves = defineTool({
  name: "code__leaves", description: "Leaves.", effect: "read",
  handler: () => { void Promise.reject(new Error("left by the tool")); return "done"; },
});
const tessera = await createTessera({
  tools: [leaves],
  reportStrays: process.argv[2] === "off" ? false : undefined,
  log: (line) => console.log(line),
});
const { status } = await tessera.callTool("code__leaves", {});
console.log("called: " + status);
if (process.argv[3] === "own") void Promise.reject(new Error("the program's own"));
await new Promise((done) => setTimeout(done, 50));
await tessera.close();
console.log("closed, listeners " + process.listenerCount("unhandledRejection") + process.listenerCount("uncaughtException"));
`;

async function program(...args: string[]) {
  const file = join(directory, "program.mts");
  writeFileSync(file, PROGRAM);
  return await runNode([file, ...args]);
}

it(
  "what a tool leaves behind in a program with createTessera is reported and ends nothing, unless the program does without",
  async () => {
    const told = await program("on");
    expect(told.exitCode, told.err).toBe(0);
    expect(told.out).toContain("the tool code__leaves left a failure behind");
    expect(told.out).toContain("called: success");
    expect(told.out).toContain("closed, listeners 00");
    const untold = await program("off");
    expect([untold.exitCode, untold.out.includes("closed")]).toEqual([1, false]);
    expect(untold.err).toContain("Error: left by the tool");
  },
  SLOW_MS,
);

it(
  "a failure of the program itself ends it as ever, also where createTessera reports what tools leave",
  async () => {
    const { exitCode, out, err } = await program("on", "own");
    expect([exitCode, out.includes("closed")]).toEqual([1, false]);
    expect(err).toContain("Error: the program's own");
  },
  SLOW_MS,
);
