// examples/text-utils: every export, in the placement it has (isolated) and inline, through the path of `tessera tools call`.

import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type HostedProject, ToolWorld } from "../tools/tool-world.ts";
import { ROOT } from "./run-guide.ts";

const EXAMPLE = join(ROOT, "examples/text-utils");
const RESOURCES = ["goondan.yaml", "tools/text-report/tool.yaml"];
const TEXT = "to be or\nnot to be";

let world: ToolWorld;
beforeAll(async () => {
  world = await ToolWorld.open("pglite");
});
afterAll(() => world.close());

/** The same bundle, with the placement written into its resources. */
function inlineCopy(): string {
  const copy = mkdtempSync(join(world.directory, "text-utils-"));
  cpSync(EXAMPLE, copy, { recursive: true });
  for (const resource of RESOURCES) {
    const yaml = readFileSync(join(copy, resource), "utf8");
    writeFileSync(join(copy, resource), yaml.replace("spec:\n", "spec:\n  placement: inline\n"));
  }
  return copy;
}

describe.each(["isolated", "inline"] as const)("the tools of examples/text-utils, %s", (placement) => {
  let hosted: HostedProject;
  beforeAll(async () => {
    hosted = await world.host({ bundle: placement === "isolated" ? EXAMPLE : inlineCopy() });
  });

  it("are all there, in that placement", async () => {
    const tools = await world.node.kernel.reads.tools(hosted.project);
    expect(tools.map(({ tool_name, options }) => [tool_name, (options as { placement: string }).placement])).toEqual(
      ["text-report__count", "text-report__frequent", "text-report__save", "text-utils__uppercase"].map((name) => [
        name,
        placement,
      ]),
    );
  });

  it.each([
    ["text-utils__uppercase", { text: "hello" }, { result: "HELLO" }],
    ["text-report__count", { text: TEXT }, { lines: 2, words: 6, characters: 18 }],
    [
      "text-report__frequent",
      { text: TEXT, limit: 1 },
      { value: [{ word: "be", times: 2 }] }, // a list is wrapped: results are objects
    ],
    [
      "text-report__save",
      { name: "report.json", text: "a b a" },
      {
        file: "report.json",
        words: 3,
        frequent: [
          { word: "a", times: 2 },
          { word: "b", times: 1 },
        ],
      },
    ],
  ])("%s answers", async (name, args, result) => {
    expect(await world.call(hosted, name, args)).toMatchObject({ status: "success", result });
  });

  it("an error with a suggestion reaches the caller as the author wrote it", async () => {
    const answer = await world.call(hosted, "text-report__save", { name: "../x", text: "" });
    expect(answer).toMatchObject({
      status: "failed",
      error: {
        message: '"../x" is not a plain file name',
        detail: { code: "E_FILE_NAME", suggestion: "Send a name such as report.json, without a directory." },
      },
    });
  });
});
