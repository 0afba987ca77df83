import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

const BUNDLE = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: echo }
spec:
  entry: ./echo.ts
  placement: isolated
  exports: [{ name: say, description: Says it again., effect: read, parameters: { type: object } }]
`;

describe("the code of a bundle's tools", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "tessera-code-"));
    mkdirSync(join(directory, "bundle"));
    writeFileSync(join(directory, "bundle", "tessera.yaml"), BUNDLE);
    writeFileSync(
      join(directory, "bundle", "echo.ts"),
      "export const handlers = { say: (_: unknown, given: object) => given };",
    );
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));

  /** In a process of its own: whether it keeps compiled sources is settled once. It has to end by itself. */
  function answerOf(script: string, env: Record<string, string>): unknown {
    const from = (file: string) => JSON.stringify(new URL(file, import.meta.url).href);
    const bundle = JSON.stringify(join(directory, "bundle"));
    const text = `
      const { systemClock: clock } = await import("@tessera/engines/system");
      const { openToolCode } = await import(${from("./tool-code.ts")});
      const { openProcess } = await import(${from("../process/open-process.ts")});
      const common = { bundle: ${bundle}, env: {}, clock, onWarning() {}, onFatal() {} };
      const place = { kind: "directory", name: "d", directory: ${JSON.stringify(join(directory, "data"))} };
      ${script}`;
    const options = { env: { PATH: process.env.PATH, ...env }, cwd: import.meta.dirname, timeout: 60_000 };
    const out = execFileSync(process.execPath, ["--input-type=module", "-e", text], { ...options, encoding: "utf8" });
    return JSON.parse(out);
  }

  const children = `
    const code = await openToolCode({ ...common, place });
    for (let turn = 0; turn < 20_000 && code.isolated.children() === 0 && process.env.NODE_COMPILE_CACHE; turn++) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    const before = code.isolated.children();
    const { tools } = await code.bundle();
    await code.close();
    await code.close();
    console.log(JSON.stringify([before, tools.length]));`;

  it("is looked at before the store is there, where compiled sources are kept, and leaves nothing beside it", () => {
    expect(answerOf(children, { NODE_COMPILE_CACHE: join(directory, "cache") })).toEqual([1, 1]);
    expect(existsSync(join(directory, "cache", "transformed"))).toBe(true);
    expect(existsSync(join(directory, "data"))).toBe(false);
  }, 120_000);

  it("waits for a consumer that asks, where they are not", () => {
    expect(answerOf(children, {})).toEqual([0, 1]);
  }, 120_000);

  it("is dropped, with its children, where the store cannot be opened, and that is what is told", () => {
    writeFileSync(join(directory, "data"), "no directory");
    writeFileSync(join(directory, "bundle", "echo.ts"), "export const handlers = {};"); // a mistake that is not told
    const script = `
      const error = await openProcess({ ...common, project: "default", executor: "e", data: place.directory }).catch((e) => e);
      console.log(JSON.stringify([error.code, String(error.message).includes("data")]));`;
    expect(answerOf(script, { NODE_COMPILE_CACHE: join(directory, "cache") })).toEqual(["storage_error", true]);
  }, 120_000);
});
