// `tessera dev` on a bundle that changes under it.

import { existsSync, mkdtempSync, readFileSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitFor } from "@tessera/testkit";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { agentYaml, type Dev, endAllDevs, startDev, toolYaml, write, yaml } from "./dev-process.ts";
import { runHere } from "./run-here.ts";

const SLOW_MS = 180_000;
const NONE = { added: [], changed: [], removed: [] };
const says = (what: string) => `export const handlers = { say: () => ({ says: ${JSON.stringify(what)} }) };\n`;
let directory = "";
let bundle = "";

const makeBundle = (files: Readonly<Record<string, string>>) => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), "reload-")));
  bundle = join(directory, "project", "bundle");
  write(bundle, files);
};
const edit = (file: string, text: string) => writeFileSync(join(bundle, file), text);
const editPart = (file: string, from: string, to: string) => {
  const text = readFileSync(join(bundle, file), "utf8");
  expect(text).toContain(from);
  edit(file, text.replace(from, to));
};
const remove = () => rmSync(directory, { recursive: true, force: true });

describe("a bundle that changes while dev runs", () => {
  let dev: Dev;
  beforeAll(async () => {
    makeBundle({
      "tessera.yaml": yaml(
        agentYaml({ name: "clerk" }),
        agentYaml({ name: "inliner", calls: ["near__say"] }),
        agentYaml({ name: "coder", calls: ["code__say"] }),
        agentYaml({ name: "reader", calls: [], says: "read", more: ", prompt: { systemRef: prompts/reader.md }" }),
        toolYaml("words", ["say"]),
        toolYaml("near", ["say"], "placement: inline"),
      ),
      "tools/words.ts": `import { what } from "../../shared/what.ts";\nimport { mark } from "./mark";\nexport const handlers = { say: () => ({ says: what + mark }) };\n`,
      "tools/mark.ts": `export const mark = "!";\n`,
      "../shared/what.ts": `export const what = "one";\n`,
      "tools/near.ts": says("near one"),
      "prompts/reader.md": "Read it.\n",
      "tessera.config.ts": `import { defineTool } from "@tessera/tessera";
import { word } from "./lib/word.ts";
export default { tools: [ defineTool({ name: "code__say", handler: () => ({ says: word }) }) ] };\n`,
      "lib/word.ts": `export const word = "code one";\n`,
      "node_modules/pack/index.js": "export default 1;\n",
    });
    dev = await startDev(bundle, ["--data", join(bundle, "store")]);
  }, SLOW_MS);
  afterAll(async () => {
    await endAllDevs();
    remove();
  });

  it(
    "runs the new source of a tool, of what it imports and of what lies outside, in every placement",
    async () => {
      expect(await dev.ask("clerk")).toBe("one!");
      expect(await dev.next("reloaded", () => edit("tools/mark.ts", `export const mark = "?";\n`))).toEqual({
        ...{ ok: true, event: "reloaded", files: ["tools/mark.ts"], agents: NONE, extensions_reloaded: false },
        tools: { ...NONE, changed: ["words__say"] },
      });
      expect(await dev.ask("clerk")).toBe("one?");
      const outside = await dev.next("reloaded", () => edit("../shared/what.ts", `export const what = "two";\n`));
      expect(outside).toMatchObject({ files: ["../shared/what.ts"], tools: { changed: ["words__say"] } });
      expect(await dev.ask("clerk")).toBe("two?");

      expect(await dev.ask("inliner")).toBe("near one");
      const near = await dev.next("reloaded", () => edit("tools/near.ts", says("near two")));
      expect(near).toMatchObject({ files: ["tools/near.ts"], tools: { changed: ["near__say"] } });
      expect(await dev.ask("inliner")).toBe("near two");

      expect(await dev.ask("coder")).toBe("code one");
      const code = await dev.next("reloaded", () => edit("lib/word.ts", `export const word = "code two";\n`));
      expect(code.files).toEqual(["lib/word.ts"]);
      expect((code.tools as { changed: string[] }).changed).toContain("code__say");
      expect(await dev.ask("coder")).toBe("code two");
    },
    SLOW_MS,
  );

  it(
    "has the new words of resources and prompts, and the log says so in one line",
    async () => {
      const changed = await dev.next("reloaded", () => editPart("tessera.yaml", "words say", "Says words."));
      expect(changed).toMatchObject({
        files: ["tessera.yaml"],
        tools: { ...NONE, changed: ["words__say"] },
        agents: NONE,
      });
      expect(JSON.stringify(await dev.get("/tools"))).toContain("Says words.");
      await dev.next("reloaded", () =>
        editPart("tessera.yaml", `text: "{{result.says}}"`, `text: "clerk heard {{result.says}}"`),
      );
      expect(await dev.ask("clerk")).toBe("clerk heard two?");
      const prompt = await dev.next("reloaded", () => edit("prompts/reader.md", "Read it twice.\n"));
      expect(prompt).toMatchObject({
        files: ["prompts/reader.md"],
        tools: NONE,
        agents: { ...NONE, changed: ["reader"] },
      });
      expect(JSON.stringify(await dev.get("/profiles/reader"))).toContain("Read it twice.");
      const log = dev.log().map((line) => JSON.parse(line).msg);
      expect(log).toContain("reloaded tessera.yaml: 1 tool changed");
      expect(log).toContain("reloaded tessera.yaml: 1 agent changed");
    },
    SLOW_MS,
  );

  it(
    "has agents and tools that were added, has not those that were removed, and has again what came back",
    async () => {
      const more = yaml(agentYaml({ name: "guest", calls: ["extra__say"] }), toolYaml("extra", ["say"]));
      const names = async (path: string, key: string) => JSON.stringify((await dev.get(path))[key]);
      const added = await dev.next("reloaded", () => {
        edit("tools/extra.ts", says("extra"));
        edit("resources.yaml", more);
      });
      expect(added).toMatchObject({ tools: { ...NONE, added: ["extra__say"] }, agents: { ...NONE, added: ["guest"] } });
      expect(await dev.ask("guest")).toBe("extra");

      const removed = await dev.next("reloaded", () => rmSync(join(bundle, "resources.yaml")));
      expect(removed).toMatchObject({
        tools: { ...NONE, removed: ["extra__say"] },
        agents: { ...NONE, removed: ["guest"] },
      });
      expect(await names("/tools", "tools")).not.toContain("extra__say");
      expect(await names("/profiles", "profiles")).not.toContain("guest");
      expect((await dev.enqueue("guest")).status).toBe(404);

      await dev.next("reloaded", () => edit("resources.yaml", more));
      expect(await dev.ask("guest")).toBe("extra");
    },
    SLOW_MS,
  );

  it(
    "goes on with the last good version after a mistake, says where the mistake is, and after a save that it is still there",
    async () => {
      const broken = await dev.next("reload_refused", () => edit("tools/mark.ts", `export const mark = = "?";\n`));
      expect(broken).toMatchObject({ ok: false, files: ["tools/mark.ts"] });
      expect(broken.findings).toMatchObject([{ severity: "error", line: 1, column: 21 }]);
      expect(JSON.stringify(broken.findings)).toContain("tools/mark.ts");
      const log = dev.log().map((line) => JSON.parse(line).msg as string);
      expect(log.some((line) => /bundle\/tools\/mark\.ts:1:21: this module cannot be loaded: /.test(line))).toBe(true);
      expect(log.at(-1)).toBe("not reloaded, 1 mistake (tools/mark.ts); the last good version goes on");
      expect(await dev.ask("clerk")).toBe("clerk heard two?");

      const same = await dev.next("reload_refused", () => edit("tools/mark.ts", `export const mark = = "!";\n`));
      expect(same.findings).toEqual(broken.findings);
      const said = dev.log().map((line) => JSON.parse(line).msg as string);
      expect(said.at(-1)).toBe("still not reloaded, 1 mistake (tools/mark.ts); the last good version goes on");
      expect(said.filter((line) => line.includes("this module cannot be loaded"))).toHaveLength(1);

      // The rest of the bundle waits until all of it is good.
      const both = await dev.next("reload_refused", () => {
        edit("tools/near.ts", says("near three"));
        editPart("tessera.yaml", "kind: Agent\nmetadata: { name: reader }", "kind: Agnt\nmetadata: { name: reader }");
      });
      expect(both.findings).toHaveLength(2);
      expect(await dev.ask("inliner")).toBe("near two");
      const mended = await dev.next("reloaded", () => {
        edit("tools/mark.ts", `export const mark = ".";\n`);
        editPart("tessera.yaml", "kind: Agnt", "kind: Agent");
      });
      expect((mended.files as string[]).toSorted()).toEqual(["tessera.yaml", "tools/mark.ts", "tools/near.ts"]);
      expect(await dev.ask("clerk")).toBe("clerk heard two.");
      expect(await dev.ask("inliner")).toBe("near three");
    },
    SLOW_MS,
  );

  it(
    "takes a save by rename and a burst of saves for what they are, and other files for nothing",
    async () => {
      const before = dev.events("reloaded").length;
      write(bundle, {
        "node_modules/pack/index.ts": "export default 2;\n",
        ".git/hooks/hook.ts": "export {};\n",
        "store/own.ts": "export {};\n",
        "notes.txt": "for people\n",
      });
      edit("tools/words.ts", readFileSync(join(bundle, "tools/words.ts"), "utf8")); // touched
      await dev.next("reloaded", () => {
        edit("tools/.near.ts.swp", says("near four"));
        renameSync(join(bundle, "tools/.near.ts.swp"), join(bundle, "tools/near.ts"));
      });
      expect(await dev.ask("inliner")).toBe("near four");
      const news = dev.events("reloaded").slice(before);
      expect(news.map(({ files }) => files)).toEqual([["tools/near.ts"]]);

      for (let n = 0; n <= 200; n++) edit("tools/near.ts", says(`burst ${n}`));
      await waitFor(async () => (await dev.ask("inliner")) === "burst 200", {
        what: "the last of a burst",
        timeoutMs: 60_000,
      });
      expect(dev.events("reloaded").length - before).toBeLessThan(20);
    },
    SLOW_MS,
  );

  it(
    "loads an extension again when its module changes, and leaves it alone when others do",
    async () => {
      const layer = (what: string) => `let calls = 0;
export function register(api) {
  api.pipeline.register("toolCall", async (call) => {
    const result = await call.next();
    calls += 1;
    return { ...result, output: { says: \`${what} \${calls}\` } };
  });
}\n`;
      const resources = yaml(
        "apiVersion: goondan.ai/v1\nkind: Extension\nmetadata: { name: mark }\nspec: { entry: ./mark.ts }\n",
        agentYaml({ name: "marked", calls: ["near__say"], more: ", extensions: [ { ref: Extension/mark } ]" }),
      );
      await dev.next(
        "reloaded",
        () => {
          edit("mark.ts", layer("first"));
          edit("resources.yaml", resources);
        },
        "resources.yaml",
      );
      expect(await dev.ask("marked")).toBe("first 1");
      await dev.next("reloaded", () => editPart("resources.yaml", `text: "calls"`, `text: "calls it"`));
      expect(await dev.ask("marked")).toBe("first 2");
      const again = await dev.next("reloaded", () => edit("mark.ts", layer("second")));
      expect(again).toMatchObject({ files: ["mark.ts"], extensions_reloaded: true, tools: NONE, agents: NONE });
      expect(await dev.ask("marked")).toBe("second 1");
      const broken = await dev.next("reload_refused", () => edit("mark.ts", "export const nothing = 1;\n"));
      expect(broken.findings).toMatchObject([{ code: "E_EXT_LOAD" }]);
      expect(JSON.stringify(broken.findings)).toContain("resources.yaml");
      expect(await dev.ask("marked")).toBe("second 2");
      await dev.next("reloaded", () => edit("mark.ts", layer("third")));
      expect(await dev.ask("marked")).toBe("third 1");
    },
    SLOW_MS,
  );

  it(
    "says that settings count from the next start, and ends with Ctrl-C",
    async () => {
      const changed = await dev.next(
        "reloaded",
        () => {
          edit(
            "tessera.config.ts",
            `import { defineTool } from "@tessera/tessera";
export default { settings: { concurrency: 3 }, tools: [ defineTool({ name: "code__say", handler: () => ({ says: "code three" }) }) ] };\n`,
          );
        },
        "tessera.config.ts",
      );
      expect(changed).toMatchObject({ settings_changed: true, tools: { changed: ["code__say"] } });
      expect(await dev.ask("coder")).toBe("code three");
      const exit = new Promise((resolve) => dev.child.once("exit", (...how) => resolve(how)));
      dev.child.kill("SIGINT");
      expect(await exit).toEqual([0, null]);
      expect((await runHere(["verify", "--data", join(bundle, "store")])).exitCode).toBe(0);
    },
    SLOW_MS,
  );
});

describe("a turn that is under way when its bundle changes", () => {
  const gate = (placement: string) => toolYaml("gate", ["wait"], placement);
  /** Says what it was loaded as, when a file is there. */
  const waits = (what: string) =>
    `import { existsSync, writeFileSync } from "node:fs";
export const handlers = { wait: async () => {
  writeFileSync(${JSON.stringify("DIR/begun-")} + "${what}", "");
  while (!existsSync("DIR/go-${what}")) await new Promise((resolve) => setTimeout(resolve, 20));
  return { says: "${what}" };
} };\n`.replaceAll("DIR", directory);

  beforeEach(() => makeBundle({ "tessera.yaml": "" }));
  afterEach(async () => {
    await endAllDevs();
    remove();
  });

  it(
    "keeps its definitions, its code and its tools, also one that is removed; the next turn has the new ones",
    async () => {
      const inline = "placement: inline";
      const clerk = (word: string, calls: readonly string[]) =>
        agentYaml({ name: "clerk", calls, says: `${word} {{result.says}}` });
      write(bundle, {
        "tessera.yaml": yaml(
          clerk("old", ["gate__wait", "last__say"]),
          gate(inline),
          toolYaml("last", ["say"], inline),
        ),
        "tools/gate.ts": waits("one"),
        "tools/last.ts": says("last one"),
      });
      const dev = await startDev(bundle);
      const { agent_turn_id } = (await (await dev.enqueue("clerk")).json()) as { agent_turn_id: string };
      await waitFor(() => existsSync(join(directory, "begun-one")), { what: "the first call to run" });
      const changed = await dev.next("reloaded", () => {
        rmSync(join(bundle, "tools/last.ts"));
        edit("tools/gate.ts", waits("two"));
        edit("tessera.yaml", yaml(clerk("new", ["gate__wait"]), gate(inline)));
      });
      expect(changed).toMatchObject({
        tools: { changed: ["gate__wait"], removed: ["last__say"] },
        agents: { changed: ["clerk"] },
      });
      writeFileSync(join(directory, "go-one"), "");
      const turn = await dev.ended(agent_turn_id);
      expect(turn).toMatchObject({ status: "success", deliverable: { text: "old last one" } });
      await waitFor(async () => !JSON.stringify(await dev.get("/tools")).includes("last__say"), {
        what: "the tool to go",
      });
      writeFileSync(join(directory, "go-two"), "");
      expect(await dev.ask("clerk")).toBe("new two");
    },
    SLOW_MS,
  );

  it(
    "ends an isolated call in the code that it began with, while other calls run the new code",
    async () => {
      const agents = ["first", "second"].map((name) => agentYaml({ name, calls: ["gate__wait"] }));
      write(bundle, { "tessera.yaml": yaml(...agents, gate("")), "tools/gate.ts": waits("one") });
      const dev = await startDev(bundle);
      const { agent_turn_id } = (await (await dev.enqueue("first")).json()) as { agent_turn_id: string };
      await waitFor(() => existsSync(join(directory, "begun-one")), {
        what: "the first call to run",
        timeoutMs: 60_000,
      });
      await dev.next("reloaded", () => edit("tools/gate.ts", waits("two")));
      writeFileSync(join(directory, "go-two"), "");
      expect(await dev.ask("second")).toBe("two");
      writeFileSync(join(directory, "go-one"), "");
      expect((await dev.ended(agent_turn_id)).deliverable).toMatchObject({ text: "one" });
    },
    SLOW_MS,
  );

  it(
    "gets a clear answer where it waits for a service whose tool goes",
    async () => {
      const service = "placement: service\n  target: desk";
      const clerk = agentYaml({
        name: "clerk",
        calls: ["words__say"],
        rules: [`{ when: { text: "stale_tool_definition" }, reply: { text: "it is gone" } }`],
      });
      write(bundle, {
        "tessera.yaml": yaml(
          clerk,
          agentYaml({ name: "busy", calls: ["gate__wait"] }),
          gate(service),
          toolYaml("words", ["say"], service),
        ),
        "tools/gate.ts": waits("one"),
        "tools/words.ts": says("never"),
      });
      // One call of the target at once: the other waits for it, unclaimed.
      const dev = await startDev(bundle, ["--concurrency", "1"]);
      const busy = (await (await dev.enqueue("busy")).json()) as { agent_turn_id: string };
      await waitFor(() => existsSync(join(directory, "begun-one")), {
        what: "the service to be busy",
        timeoutMs: 60_000,
      });
      const { agent_turn_id } = (await (await dev.enqueue("clerk")).json()) as { agent_turn_id: string };
      await waitFor(
        async () =>
          (await dev.get(`/turns/${agent_turn_id}`)).turn_status === "suspended" ||
          ((await dev.get(`/turns/${agent_turn_id}`)).calls as unknown[]).length === 1,
        { what: "the call to wait" },
      );
      await dev.next("reloaded", () => {
        edit("tessera.yaml", yaml(agentYaml({ name: "busy", calls: ["gate__wait"] }), gate(service)));
      });
      writeFileSync(join(directory, "go-one"), "");
      expect((await dev.ended(busy.agent_turn_id)).status).toBe("success");
      const turn = await dev.ended(agent_turn_id);
      expect(turn.deliverable).toMatchObject({ text: "it is gone" });
      await waitFor(async () => !JSON.stringify(await dev.get("/tools")).includes("words__say"), {
        what: "the tool to go",
      });
    },
    SLOW_MS,
  );
});

describe("dev that is killed in the middle of a reload", () => {
  afterEach(async () => {
    await endAllDevs();
    remove();
  });

  it(
    "leaves a store that opens, is sound, and has the newest bundle",
    async () => {
      const files = (n: number) => ({
        "tessera.yaml": yaml(
          agentYaml({ name: "clerk", says: `${n} {{result.says}}` }),
          ...(n % 2 === 0 ? [] : [agentYaml({ name: `only-${n}` })]),
          ...Array.from({ length: 12 }, (_, tool) =>
            toolYaml(`words${tool === 0 ? "" : tool}`, ["say"], n % 3 === 0 && tool > 6 ? "placement: inline" : ""),
          ),
        ).replaceAll("words say", `says ${n}`),
        ...Object.fromEntries(
          Array.from({ length: 12 }, (_, tool) => [`tools/words${tool === 0 ? "" : tool}.ts`, says("words")]),
        ),
      });
      makeBundle(files(0));
      const store = join(directory, "store");
      for (let n = 1; n <= 3; n++) {
        const dev = await startDev(bundle, ["--data", store]);
        write(bundle, files(n));
        // The definitions are written one after the other: the first is there, the last perhaps not.
        await waitFor(async () => JSON.stringify(await dev.get("/tools")).includes(`says ${n}`), {
          what: "the first write",
          timeoutMs: 60_000,
        });
        await dev.stop("SIGKILL");
        write(bundle, { "tessera.yaml": files(n)["tessera.yaml"].replaceAll(`"${n} {`, `"again ${n} {`) });
        const after = await startDev(bundle, ["--data", store]);
        expect(await after.ask("clerk")).toBe(`again ${n} words`);
        await after.stop();
        expect((await runHere(["verify", "--data", store])).exitCode).toBe(0);
      }
    },
    SLOW_MS * 2,
  );
});

describe("dev with --no-watch", () => {
  it(
    "goes on with what it began with",
    async () => {
      makeBundle({
        "tessera.yaml": yaml(agentYaml({ name: "clerk" }), toolYaml("words", ["say"], "placement: inline")),
        "tools/words.ts": says("one"),
      });
      try {
        const still = await startDev(bundle, ["--no-watch"]);
        const watching = await startDev(bundle);
        await watching.next("reloaded", () => edit("tools/words.ts", says("two")));
        expect(await watching.ask("clerk")).toBe("two");
        expect(await still.ask("clerk")).toBe("one");
        expect(still.events("reloaded")).toEqual([]);
      } finally {
        await endAllDevs();
        remove();
      }
    },
    SLOW_MS,
  );
});

describe("dev on a terminal", () => {
  it(
    "shows turns and calls as run does, what tools log, reloads and mistakes, and no JSON",
    async () => {
      makeBundle({
        "tessera.yaml": yaml(agentYaml({ name: "clerk" }), toolYaml("words", ["say"], "placement: inline")),
        "tools/words.ts": `export const handlers = { say: (ctx) => { ctx.logger.info("working"); return { says: "hello" }; } };\n`,
      });
      let printed = "";
      const stop = Promise.withResolvers<void>();
      const running = runHere(["dev", bundle, "--port", "0"], {
        columns: 100,
        env: { TERM: "xterm" },
        stopped: stop.promise,
        onPrint: (text) => {
          printed += text;
        },
      });
      const shows = (what: RegExp) =>
        waitFor(() => what.exec(printed), { what: `${what} in ${printed}`, timeoutMs: 60_000 });
      try {
        await shows(/-d '.*'\n/);
        const [, url = ""] = /url +(\S+)/.exec(printed) ?? [];
        const [, key = ""] = /key +(\S+)/.exec(printed) ?? [];
        const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
        const ask = () =>
          fetch(`${url}/projects/default/turns`, { method: "POST", headers, body: '{"agent":"clerk","input":"go"}' });
        await ask();
        await shows(/clerk +turn .*success.*\n(?:.*\n)* {10}hello\n/);
        expect(printed).toMatch(/clerk +call {2}words__say +.*success/);
        expect(printed).toContain("info  working\n");
        edit("tools/words.ts", says("bye"));
        await shows(/^.*reloaded tools\/words\.ts: 1 tool changed\n/m);
        await ask();
        await shows(/ {10}bye\n/);
        editPart("tessera.yaml", "kind: Tool", "kind: Tol");
        await shows(/tessera\.yaml:\d+:7 .*error.*E_CONFIG_UNKNOWN_KIND/);
        await shows(/not reloaded, \d+ mistakes? \(tessera\.yaml\); the last good version goes on/);
      } finally {
        stop.resolve();
      }
      expect((await running).exitCode).toBe(0);
      expect(printed).not.toMatch(/^\{/m);
      remove();
    },
    SLOW_MS,
  );
});
