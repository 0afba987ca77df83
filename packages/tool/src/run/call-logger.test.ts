import nodeConsole from "node:console";
import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import type { ToolLogEntry } from "../invocation.ts";
import { createCallLogger, LOG_BYTES_MAX, LOG_ENTRIES_MAX, LOG_MESSAGE_BYTES_MAX } from "./call-logger.ts";

const base = { project_id: "p1", tool_call_id: "tc_1", tool_name: "demo__run", attempt: 1 };

function recorder() {
  const entries: ToolLogEntry[] = [];
  const logger = createCallLogger((entry) => entries.push(entry), base);
  const lines = () => entries.map(({ level, message }) => `${level} ${message}`);
  return { entries, logger, lines };
}

describe("a call's logger", () => {
  it("has every method of the global console", () => {
    const { logger } = recorder();
    const methodsOf = (console: object) =>
      Object.entries(console)
        .filter(([name, value]) => typeof value === "function" && !name.startsWith("_"))
        .map(([name]) => name);
    const expected = methodsOf(nodeConsole);
    expect(expected).toContain("log");
    expect(methodsOf(logger)).toEqual(expect.arrayContaining(expected));
  });

  it("turns what is printed into entries that say whose they are", () => {
    const { logger, entries } = recorder();
    logger.info("%s has %d", "Oslo", 3, { a: 1 });
    expect(entries).toEqual([{ level: "info", message: "Oslo has 3 { a: 1 }", ...base }]);
  });

  it("keeps levels apart", () => {
    const { logger, lines } = recorder();
    logger.log("a");
    logger.info("b");
    logger.debug("c");
    logger.warn("d");
    logger.error("e");
    logger.assert(true, "silent");
    logger.assert(false, "f");
    expect(lines()).toEqual(["info a", "info b", "debug c", "warn d", "error e", "error Assertion failed: f"]);
  });

  it("prints tables, objects, traces, groups and counters as Node does", () => {
    const { logger, lines } = recorder();
    logger.table([{ a: 1 }]);
    logger.dir({ a: { b: { c: { d: 1 } } } }, { depth: 0 });
    logger.dirxml("x");
    logger.group("g");
    logger.log("in");
    logger.groupEnd();
    logger.groupEnd();
    logger.log("out");
    logger.count();
    logger.count();
    logger.countReset();
    logger.count();
    logger.trace("here");
    const printed = lines();
    expect(printed[0]).toContain("(index)");
    expect(printed.slice(1, 9)).toEqual([
      "info { a: [Object] }",
      "info x",
      "info g",
      "info   in",
      "info out",
      "info default: 1",
      "info default: 2",
      "info default: 1",
    ]);
    expect(printed[9]).toMatch(/^debug Trace: here\n/);
  });

  it("measures times", () => {
    const { logger, lines } = recorder();
    logger.time("t");
    logger.timeLog("t", "half");
    logger.timeEnd("t");
    expect(lines()).toEqual([expect.stringMatching(/^info t: .+ half$/), expect.stringMatching(/^info t: /)]);
  });

  it("warns about labels in the log and not on the process's own output", () => {
    const emitWarning = vi.spyOn(process, "emitWarning").mockReturnValue();
    const { logger, lines } = recorder();
    logger.timeEnd("x");
    logger.timeLog("x");
    logger.countReset("x");
    logger.time("y");
    logger.time("y");
    expect(lines()).toEqual([
      ...Array.from({ length: 3 }, () => 'warn console: there is no label "x"'),
      'warn console: the label "y" is already in use',
    ]);
    expect(emitWarning).not.toHaveBeenCalled();
    emitWarning.mockRestore();
  });

  it("never throws, whatever it is given", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    const hostile: unknown[] = [
      proxy,
      { [inspect.custom]: () => Promise.reject(new Error("no")).catch(() => undefined) },
      {
        [inspect.custom]() {
          throw new Error("no");
        },
      },
      {
        toString() {
          throw new Error("no");
        },
      },
      Object.defineProperty(new Error("x"), "stack", {
        get() {
          throw new Error("no");
        },
      }),
      Symbol("s"),
    ];
    const { logger, entries } = recorder();
    for (const thing of hostile) {
      for (const [name, method] of Object.entries(logger)) {
        if (!["Console", "createTask"].includes(name)) expect(() => method(thing, thing)).not.toThrow();
      }
      expect(() => logger.log("%s %d %i %f %j %o %O %c", ...Array.from({ length: 8 }, () => thing))).not.toThrow();
    }
    expect(entries.map((entry) => entry.message)).toContain("console.table could not print its arguments");
  });

  it("survives a sink that fails", () => {
    const logger = createCallLogger(() => {
      throw new Error("disk full");
    }, base);
    expect(() => logger.log("x")).not.toThrow();
  });

  it("cuts one message to its limit in bytes without breaking a character", () => {
    const { logger, entries } = recorder();
    logger.log("é".repeat(100_000));
    logger.log(`a\0b\ud800`);
    const message = entries[0]?.message ?? "";
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(LOG_MESSAGE_BYTES_MAX);
    expect(Buffer.byteLength(message)).toBeGreaterThan(LOG_MESSAGE_BYTES_MAX - 8);
    expect(message).toMatch(/^é+\.\.\. \(truncated\)$/);
    expect(entries[1]?.message).toBe("a\ufffdb\ufffd");
  });

  it("stays small when a tool prints without end, and says so once", () => {
    const { logger, entries } = recorder();
    for (let n = 0; n < 2_000; n++) logger.log("x".repeat(1_000_000));
    const bytes = entries.slice(0, -1).reduce((sum, entry) => sum + Buffer.byteLength(entry.message), 0);
    expect(bytes).toBeLessThanOrEqual(LOG_BYTES_MAX);
    expect(bytes).toBeGreaterThan(LOG_BYTES_MAX - LOG_MESSAGE_BYTES_MAX);
    expect(entries.filter((entry) => entry.message.includes("the rest was dropped"))).toEqual([entries.at(-1)]);
    expect(entries.at(-1)?.level).toBe("warn");
  });

  it("stays small when a tool prints nothing very often", () => {
    const { logger, entries } = recorder();
    for (let n = 0; n < 5_000; n++) logger.log();
    expect(entries).toHaveLength(LOG_ENTRIES_MAX + 1);
  });

  it("does not format what it would drop", () => {
    const { logger } = recorder();
    for (let n = 0; n <= LOG_ENTRIES_MAX; n++) logger.log();
    let asked = 0;
    logger.log({ [inspect.custom]: () => `${++asked}` });
    expect(asked).toBe(0);
  });

  it("indents groups only so far", () => {
    const { logger, lines } = recorder();
    for (let n = 0; n < 500; n++) logger.group();
    logger.log("deep");
    for (let n = 0; n < 500; n++) logger.groupEnd();
    logger.log("flat");
    expect(lines()).toEqual([`info ${" ".repeat(64)}deep`, "info flat"]);
  });
});
