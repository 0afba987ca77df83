import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { describe, expect, it } from "vitest";

const exec = promisify(execFile);

/** The modules that a fresh process loads for an entry, as paths below `packages/` or `node_modules/`. */
async function loadedBy(entry: string): Promise<string[]> {
  const script = `
    import { registerHooks } from "node:module";
    const urls = [];
    registerHooks({ load(url, context, next) { urls.push(url); return next(url, context); } });
    await import(${JSON.stringify(entry)});
    console.log(JSON.stringify(urls));`;
  const { stdout } = await exec(process.execPath, ["--input-type=module", "--eval", script], {
    cwd: import.meta.dirname,
  });
  return (JSON.parse(stdout) as string[]).filter((url) => url.startsWith("file:"));
}

describe("the light entries", () => {
  it.each(["@tessera/tool", "@tessera/tool/run"])("%s loads only itself and the protocol", async (entry) => {
    const loaded = await loadedBy(entry);
    expect(loaded.filter((url) => url.includes("/tool/src/")).length).toBeGreaterThan(5);
    const others = loaded.filter((url) => !/\/(?:tool|protocol)\/src\/[^?]+\.ts$/.test(url));
    expect(others).toEqual([]);
    expect(loaded.filter((url) => /\/src\/(?:catalog|resources)\//.test(url))).toEqual([]);
  });

  it("have exactly these names", async () => {
    const main = await import("@tessera/tool");
    expect(Object.keys(main).sort()).toEqual([
      "ATTEMPTS_MAX_MAX",
      "BACKOFF_MS_DEFAULT",
      "BACKOFF_MS_MAX",
      "ERROR_MESSAGE_LIMIT_MAX",
      "RESERVED_TOOL_NAMES",
      "SESSION_ALIAS_CHARS_MAX",
      "TIMEOUT_MS_MAX",
      "TOOL_ERROR_CODE_DEFAULT",
      "TesseraError",
      "ToolError",
      "applyMessageEvent",
      "createConversationState",
      "createTestContext",
      "defineTool",
      "foldMessageEvents",
      "isJsonValue",
      "isPlainObject",
      "isReservedToolName",
      "sessionKey",
      "toolPolicy",
    ]);
  });
});
