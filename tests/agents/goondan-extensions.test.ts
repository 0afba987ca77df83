// Extensions in Goondan's manner, from a bundle: TypeScript and CommonJS, with imports of `@goondan/types`, unawaited emits of
// every kind, and a store that several processes open one after the other.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTessera, type Tessera, validateBundle } from "@tessera/runtime";
import { waitFor } from "@tessera/testkit";
import { afterEach, beforeEach, expect, it } from "vitest";

const BUNDLE = join(import.meta.dirname, "goondan-extensions");
const COMMAND = join(import.meta.dirname, "../../packages/cli/bin/tessera.js");
const SLOW_MS = 120_000;
let directory = "";
let lines: {
  readonly from?: string;
  readonly extension?: string;
  readonly msg: string;
  readonly agent_turn_id?: string;
}[] = [];
let open: Tessera | null = null;
let child: ChildProcess | null = null;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "tessera-goondan-"));
  lines = [];
});

afterEach(async () => {
  await open?.close();
  open = null;
  child?.kill("SIGKILL");
  child = null;
  rmSync(directory, { recursive: true, force: true });
});

/** One turn in a Tessera of its own, on the directory's store. */
async function turn(input: string) {
  open = await createTessera({
    data: join(directory, "store"),
    bundle: BUNDLE,
    api: false,
    log: (line) => void lines.push(JSON.parse(line)),
  });
  const answer = await open.run({ input });
  await open.close();
  open = null;
  return answer;
}

const said = (extension: string) => lines.filter((line) => line.extension === extension).map(({ msg }) => msg);
const warned = () => lines.filter(({ from }) => from === undefined).map(({ msg }) => msg);

it(
  "use the whole Extension API, turn by turn in processes of their own, and find what they left",
  async () => {
    for (const input of ["one", "two", "shout", "forget"]) {
      expect(await turn(input)).toMatchObject({ status: "success", deliverable: "done" });
    }
    const { deliverable } = await turn("ask the notes");
    // One entry of state for each step so far, whichever process took it.
    const notes = ["planner 0 0", "planner 0 0", "planner 0 0", "planner 0 0"];
    expect(deliverable).toBe(`counted ${JSON.stringify({ agent: "planner", notes })}`);
    const facts = said("observer").flatMap((msg) =>
      msg.startsWith("notes of") ? [JSON.parse(msg.slice(msg.indexOf("{")))] : [],
    );
    expect(facts).toHaveLength(5);
    for (const each of facts) {
      expect(each).toEqual({
        ...{ folded: true, json: true, prompt: "You plan.", inbound: "connector", greeting: "from the agent" },
        swarm: {
          ...{ name: "crew", swarmName: "crew", entryAgent: "planner", selfAgent: "planner" },
          ...{ agents: ["planner", "helper"], availableAgents: ["helper", "planner"], callableAgents: ["helper"] },
        },
      });
    }
    expect(said("observer").filter((msg) => msg.includes("done"))).toHaveLength(5); // the helper's answers, as a table
    expect(lines.find(({ extension }) => extension === "observer")?.agent_turn_id).toMatch(/^turn_/);
    const missing = "the extension notes: E_MESSAGE_TARGET_NOT_FOUND: no message never-was to remove";
    expect(warned().filter((msg) => msg !== missing)).toEqual([]);
  },
  SLOW_MS,
);

it(
  "a turn whose process was killed goes on in another one with what its layers had emitted",
  async () => {
    const [begun, go] = [join(directory, "begun"), join(directory, "go")];
    const env = { ...process.env, NOTES_BEGUN: begun, NOTES_GO: go };
    const args = ["run", BUNDLE, "--data", join(directory, "store"), "--json"];
    child = spawn(process.execPath, [COMMAND, ...args, "--input", "crash"], { env, stdio: "ignore" });
    await waitFor(() => existsSync(begun), { what: "the tool to begin", timeoutMs: 30_000 });
    child.kill("SIGKILL");
    await once(child, "exit");
    writeFileSync(go, "");
    child = spawn(process.execPath, [COMMAND, ...args, "--resume"], { env, stdio: ["ignore", "pipe", "inherit"] });
    let out = "";
    child.stdout?.on("data", (text) => {
      out += text;
    });
    const [code] = await once(child, "exit");
    expect([code, out.includes('"text":"done"')], out).toEqual([0, true]);
    expect(readFileSync(begun, "utf8")).toBe("1\n2\n");
    const { deliverable } = await turn("ask the notes");
    // The step that was killed behind its commit is not taken again: its layer did not come to write its state.
    expect(deliverable).toBe(`counted ${JSON.stringify({ agent: "planner", notes: ["planner 1 1"] })}`);
  },
  SLOW_MS,
);

it("are what validate expects", async () => {
  const { counts, findings } = await validateBundle(BUNDLE, { env: {} });
  expect([counts.extensions, findings]).toEqual([2, []]);
});
