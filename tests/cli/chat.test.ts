// `tessera chat` without a terminal, as a person at one sees it, killed, and through the process that holds its directory.

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type LoggingModel, startLoggingModel } from "../agents/logging-model.ts";
import { type Here, runHere } from "./run-here.ts";
import { TESSERA } from "./run-tessera.ts";

const SLOW_MS = 120_000;
const SYSTEM = "You remember.";
let directory = "";
let bundle = "";
let model: LoggingModel;
const children = new Set<ChildProcess>();

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), "tessera-chat-"));
  bundle = join(directory, "bundle");
  model = await startLoggingModel();
  mkdirSync(bundle);
  writeFileSync(
    join(bundle, "tessera.yaml"),
    `apiVersion: goondan.ai/v1
kind: Model
metadata: { name: logged }
spec: { provider: local, model: logged, endpoint: "${model.endpoint}" }
---
apiVersion: goondan.ai/v1
kind: Agent
metadata: { name: friend }
spec: { modelConfig: { modelRef: Model/logged }, prompt: { system: "${SYSTEM}" } }
---
apiVersion: goondan.ai/v1
kind: Swarm
metadata: { name: one }
spec: { entryAgent: Agent/friend, agents: [Agent/friend] }
`,
  );
});
afterEach(async () => {
  model.hold(null);
  for (const child of children) await kill(child);
});
afterAll(async () => {
  await model[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

async function kill(child: ChildProcess): Promise<void> {
  children.delete(child);
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exit = once(child, "exit");
  child.kill("SIGKILL");
  await exit;
}

/** Said to an agent that was asked this before, in order, and what it said. */
const conversation = (...asked: string[]) => [
  { role: "system", content: SYSTEM },
  ...asked.slice(0, -1).flatMap((text) => [
    { role: "user", content: text },
    { role: "assistant", content: `I heard ${JSON.stringify(text)}.` },
  ]),
  { role: "user", content: asked.at(-1) },
];
const chat = (data: string, here: Here, ...more: string[]) =>
  runHere(["chat", bundle, "--data", join(directory, data), ...more], here);

describe("without a terminal", () => {
  it(
    "answers each line on stdout, and shows and remembers the conversation when it is started again",
    async () => {
      const first = await chat("plain", { lines: ["I am Ann.", "", "Who am I?"] });
      expect(first, first.err).toMatchObject({ exitCode: 0, out: 'I heard "I am Ann.".\nI heard "Who am I?".\n' });
      expect(model.sent(SYSTEM, "Who am I?")).toEqual([conversation("I am Ann.", "Who am I?")]);
      expect(first.err).toContain("queued");
      expect(first.err).not.toContain("\u001b");

      const again = await chat("plain", { lines: ["And now?"] });
      expect(again.out).toBe('I heard "And now?".\n');
      expect(again.err).toMatch(
        /^ {2}you {9}I am Ann\.\n {2}friend {6}I heard "I am Ann\."\.\n {2}you {9}Who am I\?\n/,
      );
      expect(model.sent(SYSTEM, "And now?")).toEqual([conversation("I am Ann.", "Who am I?", "And now?")]);
    },
    SLOW_MS,
  );

  it(
    "begins anew with --fresh, /fresh and /reset, keeps instances apart, and says nothing of a command to the agent",
    async () => {
      const lines = ["a", "/fresh", "b", "c", "/nope", "/help", "/reset", "d"];
      const ran = await chat("anew", { lines });
      expect(ran, ran.err).toMatchObject({ exitCode: 0 });
      expect(ran.err).toContain("there is no /nope.");
      await chat("anew", { lines: ["e", "/exit", "never"] });
      await chat("anew", { lines: ["f"] }, "--fresh");
      await chat("anew", { lines: ["/reset", "h"] });
      await chat("anew", { lines: ["g"] }, "--instance", "other");
      const heard = ["a", "b", "c", "d", "e", "f", "g"].map((asked) => model.sent(SYSTEM, asked));
      // The lines before /reset are queued when it is typed, and keep their memory.
      expect(heard[0]).toEqual([conversation("a")]);
      expect(heard[1]).toEqual([conversation("b")]);
      expect(heard[2]).toEqual([conversation("b", "c")]);
      expect(heard[3]).toEqual([conversation("d")]);
      expect(heard[4]).toEqual([conversation("d", "e")]);
      expect(heard[5]).toEqual([conversation("f")]);
      expect(heard[6]).toEqual([conversation("g")]);
      expect(model.sent(SYSTEM, "h")).toEqual([conversation("h")]);
      expect(model.sent(SYSTEM, "never")).toEqual([]);
    },
    SLOW_MS,
  );

  it(
    "goes on with what was open when it was killed -9 in the middle of an answer",
    async () => {
      model.hold({ system: SYSTEM, asked: "What is next?" });
      const args = [TESSERA, "chat", bundle, "--data", join(directory, "killed")];
      const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "ignore"] });
      children.add(child);
      const lines: string[] = [];
      createInterface({ input: child.stdout as never }).on("line", (line) => lines.push(line));
      child.stdin?.write("We begin.\nWhat is next?\n");
      await model.came(SYSTEM, "What is next?", 1);
      await waitFor(() => lines.length > 0, { what: "the first answer" });
      expect(lines).toEqual(['I heard "We begin.".']);
      await kill(child);
      expect(child.signalCode).toBe("SIGKILL");
      model.hold(null);

      const again = await chat("killed", { lines: ["And then?"] });
      expect(again, again.err).toMatchObject({ exitCode: 0, out: 'I heard "What is next?".\nI heard "And then?".\n' });
      expect(again.err).toMatch(
        /^ {2}you {9}We begin\.\n {2}friend {6}I heard "We begin\."\.\n {2}goes on with: What is next\?\n/,
      );
      const second = conversation("We begin.", "What is next?");
      expect(model.sent(SYSTEM, "What is next?")).toEqual([second, second]);
      expect(model.sent(SYSTEM, "And then?")).toEqual([conversation("We begin.", "What is next?", "And then?")]);
    },
    SLOW_MS,
  );
});

describe("at a terminal", () => {
  it(
    "prints text while it is written, each line once, and asks what Ctrl-C means while a turn runs",
    async () => {
      let [printed, interrupt, type] = ["", () => {}, (_: string | null) => {}];
      const until = (part: string) =>
        waitFor(() => printed.includes(part), { what: `${part} in ${printed}`, timeoutMs: 60_000 });
      const ran = chat("person", {
        columns: 80,
        env: { TERM: "dumb" },
        lines: (heard) => {
          type = heard;
        },
        onTerminal: (press) => {
          interrupt = press;
        },
        onPrint: (text) => {
          printed += text;
        },
      });
      await until("> ");
      model.hold({ system: SYSTEM, asked: "one" });
      type("one");
      await until("I "); // the first word of an answer that is held back
      expect(printed).not.toContain("heard");
      interrupt();
      await until("go on (g)? ");
      model.hold(null);
      await waitFor(() => model.sent(SYSTEM, "one").length === 1, { what: "the request" });
      type("x");
      type("g");
      await until('heard "one".\n> ');

      model.hold({ system: SYSTEM, asked: "two" });
      type("two");
      await model.came(SYSTEM, "two", 1);
      interrupt();
      type("s");
      await until("was canceled");
      type("three");
      await until('heard "three".\n> ');
      interrupt(); // at the prompt
      const { exitCode, out } = await ran;
      expect(exitCode).toBe(0);
      expect(out.match(/heard "one"/g)).toHaveLength(1);
      expect(out.match(/heard "three"/g)).toHaveLength(1);
      expect(printed).not.toContain("\u001b");
    },
    SLOW_MS,
  );
});

it(
  "is held on the process that has the directory, where one has",
  async () => {
    const data = join(directory, "held");
    const child = spawn(process.execPath, [TESSERA, "start", bundle, "--data", data, "--port", "0", "--json"], {
      stdio: ["ignore", "pipe", "ignore"],
    });
    children.add(child);
    await once(createInterface({ input: child.stdout as never }), "line");
    const ran = await runHere(["chat", "--data", data], { lines: ["over there", "/exit"] });
    expect(ran, ran.err).toMatchObject({ exitCode: 6, out: "" }); // left before its end: the turn is the process's
    const again = await runHere(["chat", "--data", data], { lines: ["and again"] });
    expect(again, again.err).toMatchObject({ exitCode: 0 });
    expect(again.out).toMatch(/I heard "and again"\.\n$/);
    expect(model.sent(SYSTEM, "and again")).toEqual([conversation("over there", "and again")]);
  },
  SLOW_MS,
);
