import { describe, expect, it } from "vitest";
import { isReservedToolName, RESERVED_TOOL_NAMES } from "./reserved-names.ts";
import { ToolError } from "./tool-error.ts";

describe("ToolError", () => {
  it("carries what the model needs to recover", () => {
    const cause = new Error("socket closed");
    const error = new ToolError("no such city", {
      code: "E_CITY",
      suggestion: "use an English name",
      helpUrl: "https://example.com/cities",
      retryable: true,
      cause,
    });
    expect(error).toMatchObject({
      name: "ToolError",
      message: "no such city",
      code: "E_CITY",
      suggestion: "use an English name",
      helpUrl: "https://example.com/cities",
      retryable: true,
      cause,
    });
    expect(error).toBeInstanceOf(Error);
    expect(new ToolError("x").code).toBe("E_TOOL");
    expect("cause" in new ToolError("x")).toBe(false);
  });

  it("recognises one made by another copy of the package", async () => {
    const copyUrl = `${new URL("./tool-error.ts", import.meta.url).href}?copy`;
    const copy = (await import(copyUrl)) as typeof import("./tool-error.ts");
    const foreign = new copy.ToolError("x");
    expect(copy.ToolError).not.toBe(ToolError);
    expect(foreign).not.toBeInstanceOf(ToolError);
    expect(ToolError.is(foreign)).toBe(true);
  });

  it("recognises nothing else, and throws for nothing", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const other of [new Error("x"), null, undefined, "ToolError", { name: "ToolError" }, proxy]) {
      expect(ToolError.is(other)).toBe(false);
    }
  });
});

describe("the reserved names", () => {
  it("are those of Tessera's own tools", () => {
    expect(RESERVED_TOOL_NAMES).toEqual([
      "delegate_async",
      "launch_principal",
      "ask_expert",
      "fork_join",
      "provision_agent",
      "submit_result",
    ]);
  });

  it("are reserved in any case of letters, and only whole", () => {
    expect(isReservedToolName("FORK_Join")).toBe(true);
    expect(isReservedToolName("fork_join2")).toBe(false);
  });
});
