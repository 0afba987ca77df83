import { execFileSync } from "node:child_process";

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { TestChild } from "./child-process.ts";
import { waitFor } from "./wait-for.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-child-"));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

function script(name: string, text: string): string {
  const file = join(directory, name);
  writeFileSync(file, text);
  return file;
}

const COUNTER = `let n = 0; setInterval(() => console.log(JSON.stringify({ n: ++n })), 5);`;

test("a stopped child prints nothing until it goes on, and a killed one ends by the signal", async () => {
  const child = await TestChild.start(script("counter.ts", COUNTER));
  await child.waitForMessage<{ n: number }>("3", ({ n }) => n >= 3);
  child.stop();
  await waitFor(() => stateOf(child.pid) === "T", { what: "the child to be stopped" });
  const stopped = child.messages.length;
  child.resume();
  await waitFor(() => child.messages.length > stopped + 2, { what: "more lines" });
  await child.kill();
  expect(child.exit).toEqual({ code: null, signal: "SIGKILL" });
});

test("a child that ends by itself is not taken for a killed one", async () => {
  const child = await TestChild.start(script("ends.ts", "console.error('done'); process.exitCode = 3;"));
  expect(await child.ended()).toEqual({ code: 3, signal: null });
  await expect(child.expectSignal("SIGKILL")).rejects.toThrow(/ended with .*"code":3[\s\S]*done/);
  await expect(child.waitForMessage("anything", () => true)).rejects.toThrow("the child ended before");
});

test.each([
  ["runs", ""],
  ["is stopped", "child.stop();"],
])("a child that %s does not outlive the process that started it", async (_, stop) => {
  const inner = script("inner.ts", COUNTER);
  const kit = new URL("./child-process.ts", import.meta.url).href;
  const outer = script(
    "outer.ts",
    `import { TestChild } from ${JSON.stringify(kit)};
     const child = await TestChild.start(${JSON.stringify(inner)});
     ${stop}
     console.log(JSON.stringify({ pid: child.pid }));`,
  );
  const child = await TestChild.start(outer);
  const { pid } = await child.waitForMessage<{ pid: number }>("a pid", () => true);
  await child.kill();
  await waitFor(() => ["Z", null].includes(stateOf(pid)), { what: "the grandchild to end" });
});

/** The letter of `ps`, or null when there is no such process. */
function stateOf(pid: number): string | null {
  try {
    const text = execFileSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
    return text.trim().slice(0, 1) || null;
  } catch {
    return null; // ps fails when it finds nothing
  }
}
