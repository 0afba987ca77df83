import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { TesseraError } from "@tessera/protocol";
import { afterAll, describe, expect, it } from "vitest";
import { refusing, revoked } from "../../test/handler-runs.ts";
import { ToolError } from "../tool-error.ts";
import { failureOf, failureStack, placeOf, stackOf } from "./failure-stack.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "failure-stack-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

let files = 0;
const load = createRequire(import.meta.url);

/** What a foreign module throws, loaded by Node from a file of its own. */
async function thrownBy(source: string, name = `tool-${files++}.mjs`): Promise<unknown> {
  const file = join(root, name);
  await mkdir(dirname(file), { recursive: true });
  writeFileSync(file, source);
  const { run } = load(file) as { run: () => unknown }; // not `import`, which vitest would do in its own way
  try {
    await run();
  } catch (thrown) {
    return thrown;
  }
  throw new Error("it threw nothing");
}

describe("the stack of an error", () => {
  it("begins with its message and the author's frames, and counts what is Tessera's and Node's", async () => {
    const thrown = await thrownBy(
      "export function run() {\n  return inner({});\n}\nfunction inner(order) {\n  return order.customer.name;\n}\n",
      "orders.mjs",
    );
    const [head, ...frames] = failureStack(thrown);
    expect(head).toBe("TypeError: Cannot read properties of undefined (reading 'name')");
    expect(frames[0]).toBe(`    at inner (${join(root, "orders.mjs")}:5:25)`);
    expect(frames[1]).toBe(`    at run (${join(root, "orders.mjs")}:2:10)`);
    expect(frames.at(-1)).toMatch(/^ {4}… \d+ more of Tessera and Node\.js$/);
    expect(frames.join("\n")).not.toMatch(/packages\/tool\/src|node:internal/);
  });

  it("shows frames of libraries after the author's, in their order", () => {
    const error = Object.assign(new Error("no"), {
      stack: [
        "Error: no",
        "    at parse (/srv/app/node_modules/zod/lib/parse.js:1:1)",
        "    at check (/srv/app/node_modules/zod/lib/check.js:2:2)",
        "    at Array.map (<anonymous>)",
        "    at find (/srv/app/tools/orders.ts:3:3)",
        "    at async file:///srv/app/tools/index.ts:4:4",
        "    at process.processTicksAndRejections (node:internal/process/task_queues:105:5)",
        "    at load (/srv/app/node_modules/jiti/dist/jiti.cjs:1:1)",
      ].join("\n"),
    });
    expect(stackOf(error)).toBe(
      [
        "Error: no",
        "    at find (/srv/app/tools/orders.ts:3:3)",
        "    at async /srv/app/tools/index.ts:4:4",
        "    in libraries:",
        "    at parse (/srv/app/node_modules/zod/lib/parse.js:1:1)",
        "    at check (/srv/app/node_modules/zod/lib/check.js:2:2)",
        "    at Array.map (<anonymous>)",
        "    … 2 more of Tessera and Node.js",
      ].join("\n"),
    );
    expect(placeOf(error)).toEqual({ file: "/srv/app/tools/orders.ts", line: 3, column: 3 });
  });

  it("shows frames of Tessera where there are no others: the fault is ours", () => {
    const error = new Error("ours");
    error.stack = `Error: ours\n    at work (${import.meta.filename}:1:1)\n    at node:internal/x:2:2`;
    expect(stackOf(error)).toContain(`    at work (${import.meta.filename}:1:1)`);
    expect(placeOf(error)).toBeNull();
  });

  it("reports its causes one after the other, and each once, also where they are a circle", async () => {
    const thrown = await thrownBy(
      `export function run() {
         const first = new Error("connect ECONNREFUSED");
         const second = new TypeError("fetch failed", { cause: first });
         first.cause = second;
         throw new Error("no customer", { cause: second });
       }`,
    );
    const text = stackOf(thrown);
    expect(text).toMatch(/^Error: no customer\n {4}at .*\n(.*\n)*caused by: TypeError: fetch failed\n {4}at /);
    expect(text.match(/caused by: /g)).toHaveLength(2);
    expect(text).toContain("caused by: Error: connect ECONNREFUSED");
  });

  it("reports the errors of an AggregateError, and their own causes", async () => {
    const thrown = await thrownBy(
      `export const run = () => Promise.any([
         Promise.reject(new RangeError("one", { cause: "a text" })),
         Promise.reject(new Error("two")),
       ]);`,
    );
    const text = stackOf(thrown);
    expect(text).toContain("AggregateError: All promises were rejected");
    expect(text).toContain("error 1 of 2: RangeError: one");
    expect(text).toContain("caused by: what was thrown is no Error and has no stack: a text");
    expect(text).toContain("error 2 of 2: Error: two");
  });

  it("has the message as it is now, and its line breaks", () => {
    const error = new Error("before");
    error.message = "after\n    at all (/not/a/frame.ts:1:1) times\nthe end";
    expect(failureStack(error)[0]).toBe(`Error: ${error.message}`);
    const lines = new Error("first\nsecond");
    expect(failureStack(lines)[0]).toBe("Error: first\nsecond");
  });

  it("of a ToolError names its class", () => {
    expect(failureStack(new ToolError("no such order", { code: "NO_ORDER" }))[0]).toBe("ToolError: no such order");
  });
});

describe("a failure on purpose", () => {
  it("is a ToolError, any error with a suggestion for the model, and a refusal with a code of the catalogue", () => {
    expect(failureOf(new ToolError("no such order")).isMeant).toBe(true);
    expect(failureOf(Object.assign(new Error("full"), { suggestion: "try tomorrow" })).isMeant).toBe(true);
    expect(failureOf(Object.assign(new Error("no file"), { code: "ENOENT" })).isMeant).toBe(false);
    expect(failureOf(new TesseraError("not_found", "no such order")).isMeant).toBe(true);
    expect(failureOf(new TesseraError("internal_error", "it broke")).isMeant).toBe(false);
    expect(failureOf("out of stock").isMeant).toBe(false);
  });
});

describe("the places in a stack", () => {
  const MAP = {
    version: 3,
    sources: ["../src/orders.ts"],
    names: [],
    mappings: ";AAKE,QAAQ", // the second line of what was built is the sixth of the source
  };
  const BUILT = 'export function run() {\n  throw new Error("mapped");\n}\n';

  it("are those of the source, by the map beside a built file", async () => {
    await mkdir(join(root, "lib"), { recursive: true });
    writeFileSync(join(root, "lib/orders.js.map"), JSON.stringify(MAP));
    writeFileSync(join(root, "lib/package.json"), '{"type":"module"}');
    const thrown = await thrownBy(`${BUILT}//# sourceMappingURL=orders.js.map\n`, "lib/orders.js");
    expect(placeOf(thrown)).toMatchObject({ file: join(root, "src/orders.ts"), line: 6 });
    expect(stackOf(thrown)).toContain(`(${join(root, "src/orders.ts")}:6:`);
  });

  it("are found by a map inside of the file, too, and in a package", async () => {
    const url = `data:application/json;base64,${Buffer.from(JSON.stringify(MAP)).toString("base64")}`;
    const name = "node_modules/lib/dist/index.mjs";
    const thrown = await thrownBy(`${BUILT}//# sourceMappingURL=${url}\n`, name);
    expect(stackOf(thrown)).toContain(`(${join(root, "node_modules/lib/src/orders.ts")}:6:`);
    expect(placeOf(thrown), "it is a library").toBeNull();
  });

  it.each([
    ["is missing", "missing.js.map"],
    ["is on another machine", "https://example.com/orders.js.map"],
    ["is no JSON", "data:application/json,%7B"],
    ["is not even a URL", "data:application/json;base64,%%%"],
    ["is a directory", "."],
  ])("are those of the built file where the map %s", async (_, url) => {
    const name = `broken-${files++}.mjs`;
    const thrown = await thrownBy(`${BUILT}//# sourceMappingURL=${url}\n`, name);
    expect(placeOf(thrown)).toMatchObject({ file: join(root, name), line: 2 });
  });
});

describe("what is thrown and is no error", () => {
  it.each([
    ["a text", "it broke", "it broke"],
    ["nothing", undefined, "undefined"],
    ["null", null, "null"],
    ["an object", { code: "E1", inner: [1] }, '{"code":"E1","inner":[1]}'],
    ["a function", () => 1, "a function"],
    ["a symbol", Symbol("s"), "Symbol(s)"],
    ["a revoked proxy", revoked(), "a value that cannot be shown as JSON"],
    ["a proxy that refuses", refusing(), "a value that cannot be shown as JSON"],
  ])("is shown, and why there is no stack: %s", (_, thrown, shown) => {
    expect(failureStack(thrown)).toEqual([`what was thrown is no Error and has no stack: ${shown}`]);
  });

  it("may be an error of another kind of world, by what it has", () => {
    expect(stackOf({ stack: "OddError: odd\n    at x (/srv/x.ts:1:2)", message: "odd" })).toBe(
      "OddError: odd\n    at x (/srv/x.ts:1:2)",
    );
  });
});

describe("an error that was made to hurt", () => {
  it("cannot: its traps are passed over", () => {
    const trap = {
      get() {
        throw new Error("trap");
      },
    };
    const error = new Error("x");
    for (const key of ["message", "name", "cause", "errors"]) Object.defineProperty(error, key, trap);
    expect(failureStack(error).length).toBeGreaterThan(0);
    Object.defineProperty(error, "stack", trap);
    expect(failureStack(error)).toHaveLength(1);
  });

  it("has a stack of bounded size, of storable text, in a bounded time", () => {
    const error = new Error(`${"m".repeat(1_000_000)}\0\ud800`);
    error.stack = `Error: ${error.message}\n${"    at x (/srv/tools/x.ts:1:1)\n".repeat(100_000)}`;
    const many = new AggregateError(Array.from({ length: 1_000 }, () => error));
    const before = performance.now();
    const pieces = failureStack(many);
    expect(performance.now() - before).toBeLessThan(2_000);
    expect(pieces.length).toBeLessThanOrEqual(128);
    const text = pieces.join("\n");
    expect(text.length).toBeLessThan(128 * 4_000);
    expect(text.isWellFormed()).toBe(true);
    expect(text).not.toContain("\0");
    for (const piece of pieces) expect(piece.length).toBeLessThanOrEqual(4_000);
  });
});
