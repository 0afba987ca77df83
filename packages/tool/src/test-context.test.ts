import assert from "node:assert";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { defineTool } from "./define-tool.ts";
import { createTestContext } from "./test-context.ts";
import { ToolError } from "./tool-error.ts";

/** A small tool as an author writes it. */
const note = defineTool({
  name: "notes__add",
  parameters: { type: "object", properties: { text: { type: "string" } }, required: ["text"] },
  handler: async (ctx, input) => {
    if (input.text === "") throw new ToolError("the note is empty", { code: "E_EMPTY", suggestion: "write something" });
    ctx.signal.throwIfAborted();
    ctx.progress({ message: "writing", fraction: 0.5 });
    await writeFile(join(ctx.workdir, "note.txt"), input.text);
    ctx.logger.info("wrote %d characters", input.text.length);
    return { saved: input.text.length };
  },
});

describe("a test context", () => {
  it("lets an author test a handler by calling it", async () => {
    await using test = createTestContext();
    expect(await note.handler(test.ctx, { text: "hello" })).toEqual({ saved: 5 });
    expect(await readFile(join(test.ctx.workdir, "note.txt"), "utf8")).toBe("hello");
    expect(test.logs).toEqual([{ level: "info", message: "wrote 5 characters" }]);
    expect(test.progress).toEqual([{ message: "writing", fraction: 0.5 }]);
  });

  it("shows what the model would read", async () => {
    await using test = createTestContext();
    expect(await test.call(note, { text: "" })).toEqual({
      toolCallId: "tc_test",
      toolName: "notes__add",
      status: "error",
      error: { name: "ToolError", message: "the note is empty", code: "E_EMPTY", suggestion: "write something" },
    });
  });

  it("answers with plain objects, which a strict comparison takes for those that a test writes", async () => {
    await using test = createTestContext();
    const nested = defineTool({ name: "nested", handler: (_ctx, input) => ({ rooms: [{ beds: 2 }], input }) });
    const expected = { rooms: [{ beds: 2 }], input: { city: { name: "Porto" } } };
    assert.deepStrictEqual((await test.call(nested, { city: { name: "Porto" } })).output, expected);
  });

  it("aborts on demand", async () => {
    await using test = createTestContext();
    test.abort(new Error("enough"));
    await expect(note.handler(test.ctx, { text: "x" })).rejects.toThrow("enough");
  });

  it("has the same ids every time", async () => {
    await using one = createTestContext();
    await using two = createTestContext();
    const idsOf = ({ ctx }: typeof one) => [
      ctx.agentName,
      ctx.instanceKey,
      ctx.turnId,
      ctx.traceId,
      ctx.toolCallId,
      ctx.message.id,
    ];
    expect(idsOf(one)).toEqual([
      "test-agent",
      "test-project:public:test-agent",
      "turn_test",
      "0123456789abcdef0123456789abcdef",
      "tc_test",
      "card_test",
    ]);
    expect(idsOf(two)).toEqual(idsOf(one));
    expect(two.ctx.workdir).not.toBe(one.ctx.workdir);
  });

  it("takes what a test wants to set", async () => {
    await using test = createTestContext({
      agentName: "bob",
      instanceKey: "k",
      attempt: 2,
      idempotencyKey: "once",
      toolName: "x",
    });
    expect(test.ctx).toMatchObject({ agentName: "bob", instanceKey: "k", attempt: 2, idempotencyKey: "once" });
    expect(test.ctx.message.data.content).toEqual([
      { type: "tool-call", toolCallId: "tc_test", toolName: "x", input: {} },
    ]);
    expect("runtime" in test.ctx).toBe(false);
  });

  it("fakes the runtime in part, and says what is missing", async () => {
    await using test = createTestContext({
      runtime: { send: async (target) => ({ eventId: "e1", target, accepted: true }) },
    });
    const event = { id: "e0", type: "t", createdAt: new Date(0), source: { kind: "agent", name: "a" } } as const;
    expect(await test.ctx.runtime?.send("coder", event)).toEqual({ eventId: "e1", target: "coder", accepted: true });
    await expect(test.ctx.runtime?.list()).rejects.toThrow("runtime has no list");
  });

  it("removes the directory it made, and leaves one it was given", async () => {
    const made = createTestContext();
    expect(existsSync(made.ctx.workdir)).toBe(true);
    await made.dispose();
    expect(existsSync(made.ctx.workdir)).toBe(false);

    const own = await mkdtemp(join(tmpdir(), "own-"));
    try {
      const given = createTestContext({ workdir: own });
      expect(given.ctx.workdir).toBe(own);
      await given.dispose();
      expect(existsSync(own)).toBe(true);
    } finally {
      await rm(own, { recursive: true });
    }
  });

  it("refuses to call a tool whose code is elsewhere", async () => {
    await using test = createTestContext();
    await expect(test.call({ definition: note.definition, code: null })).rejects.toThrow("no function to call");
  });
});
