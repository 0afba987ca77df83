import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-module-"));
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

/** In a process of its own, because a process holds what it imported. */
function answerOf(file: string): string {
  const module = JSON.stringify(new URL("./tool-module.ts", import.meta.url).href);
  const place = `${JSON.stringify(`./${file}`)}, ${JSON.stringify(directory)}`;
  const script = `const { importEntry } = await import(${module});
    console.log((await importEntry(${place})).Answer.is);`;
  const env = { ...process.env, NODE_COMPILE_CACHE: join(directory, "cache") };
  return execFileSync(process.execPath, ["--input-type=module", "-e", script], { env, encoding: "utf8" }).trim();
}

it("a transformed source is kept beside the compiled ones, and used only if it is whole and of this source", () => {
  const kept = join(directory, "cache", "transformed");
  const source = (answer: number) => writeFileSync(join(directory, "t.ts"), `export enum Answer { is = ${answer} }`);
  source(1);
  expect(answerOf("t.ts")).toBe("1");
  const [name = "", ...others] = readdirSync(kept);
  expect(others).toEqual([]);
  truncateSync(join(kept, name), 40); // as a kill in the middle leaves it
  expect(answerOf("t.ts")).toBe("1");
  source(2);
  expect(answerOf("t.ts")).toBe("2");
  expect(readdirSync(kept)).toEqual([name]);
}, 60_000);
