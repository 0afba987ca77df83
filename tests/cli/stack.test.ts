// `turns show --stack`: why a call failed, looked at later, by another process than the one that ran the tool.

import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { runHere } from "./run-here.ts";
import { runTessera } from "./run-tessera.ts";

const SLOW_MS = 120_000;
const YAML = `apiVersion: goondan.ai/v1
kind: Tool
metadata: { name: orders }
spec:
  entry: ./tools/orders.ts
  exports: [{ name: find }, { name: fine }]
`;
const CODE = `interface Order {
  readonly customer?: { readonly name: string };
}

export const handlers = {
  find: () => nameOf({}),
  fine: () => 1,
};

function nameOf(order: Order): string {
  try {
    return order.customer!.name;
  } catch (cause) {
    throw new Error("no name \\u001b[31m", { cause });
  }
}
`;

let directory = "";
let data = "";
beforeAll(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "tessera-cli-stack-")));
  data = join(directory, "store");
  mkdirSync(join(directory, "tools"));
  writeFileSync(join(directory, "tessera.yaml"), YAML);
  writeFileSync(join(directory, "tools/orders.ts"), CODE);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function call(tool: string, exitCode: number): Promise<{ turn: string; err: string }> {
  const ran = await runTessera(["tools", "call", tool, "--bundle", directory, "--data", data]);
  expect(ran, ran.err).toMatchObject({ exitCode });
  const { turns } = JSON.parse((await runHere(["turns", "ls", "--data", data, "--json"])).out);
  return { turn: turns[0].agent_turn_id, err: ran.err };
}

it(
  "shows each attempt's stack, the author's line first, in words and as JSON, and no command obeys what is in it",
  async () => {
    const { turn, err } = await call("orders__find", 5);
    const file = join(directory, "tools/orders.ts");
    // The log of the process that ran it has the stack once.
    expect(err.match(/at nameOf .*:14:/g)).toHaveLength(1);
    expect(err).toContain(`${file}:12:`);

    const shown = await runHere(["turns", "show", turn, "--stack", "--data", data]);
    expect(shown).toMatchObject({ exitCode: 0, err: "" });
    const [, stacks = ""] = shown.out.split("\nstacks\n");
    expect(stacks).toMatch(/^ {2}orders__find, attempt 1, tc_[0-9a-f]{32}\n {4}Error: no name \\u001b\[31m\n/);
    expect(stacks).toContain(`        at nameOf (${file}:14:`);
    expect(stacks).toContain("    caused by: TypeError: Cannot read properties of undefined (reading 'name')\n");
    expect(stacks).toContain(`        at nameOf (${file}:12:`);
    expect(shown.out).not.toContain("\u001b");

    const json = JSON.parse((await runHere(["turns", "show", turn, "--stack", "--data", data, "--json"])).out);
    expect(json.failures).toEqual([
      {
        ...{ tool_call_id: expect.stringMatching(/^tc_/), tool_name: "orders__find", attempt: 1 },
        ...{ stack: expect.stringMatching(/^Error: no name/), created_at: expect.any(String) },
      },
    ]);
  },
  SLOW_MS,
);

it(
  "says so where nothing left a stack, and shows none unless it is asked to",
  async () => {
    const { turn } = await call("orders__fine", 0);
    const shown = await runHere(["turns", "show", turn, "--stack", "--data", data]);
    expect(shown.out).toContain("\nstacks\n  none: nothing that failed here left one\n");
    const without = await runHere(["turns", "show", turn, "--data", data]);
    expect(without.out).not.toContain("stacks");
    const json = JSON.parse((await runHere(["turns", "show", turn, "--data", data, "--json"])).out);
    expect(json).not.toHaveProperty("failures");
  },
  SLOW_MS,
);
