// The YAML reference is written manually as data. What keeps it true: its fields are the keys that the readers know, and its
// examples are read by the readers without a mistake and without a warning.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readProfileYaml, readSwarmBundle } from "@tessera/agent";
import { systemClock } from "@tessera/engines/system";
import { builtinTools } from "@tessera/executor";
import { parseToolUpload } from "@tessera/tool/resources";
import { describe, expect, it } from "vitest";
import { YAML_SECTIONS } from "./yaml-kinds.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDERS = ["packages/agent/src/resources", "packages/tool/src/resources"];
const described = YAML_SECTIONS.flatMap(({ mappings }) => mappings);

/** Every constant of the readers that lists keys: `agent-resource.ts SPEC_KEYS` → its keys. */
function keysOfReaders(): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const folder of FOLDERS) {
    for (const file of readdirSync(join(ROOT, folder))) {
      if (!file.endsWith(".ts") || /\.(test|fixture)\.ts$/.test(file)) continue;
      const text = readFileSync(join(ROOT, folder, file), "utf8");
      for (const [, name = "", list = ""] of text.matchAll(
        /^(?:export )?const (\w*KEYS)\b[^=]*= (?:new Set\()?([[{][^\]}]*[\]}])/gm,
      )) {
        const keys = [...list.matchAll(/"(\w+)"/g)].map(([, key]) => key ?? "");
        // Of `{ policy: "delegationPolicy", tags: …, profiles: … }` the first one is where the mapping stands.
        found.set(`${file} ${name}`, list.startsWith("{") ? keys.slice(1) : keys);
      }
    }
  }
  return found;
}

const examples = (...titles: string[]) =>
  titles.map((title) => YAML_SECTIONS.find((section) => section.title === title)?.example ?? `no example: ${title}`);

describe("the YAML reference", () => {
  const readers = keysOfReaders();

  it("describes every list of keys that a reader has", () => {
    expect(readers.size).toBeGreaterThan(15);
    const names = described.flatMap(({ keys }) => keys ?? []);
    expect(names.toSorted()).toEqual([...readers.keys()].toSorted());
  });

  it.each(described.flatMap(({ keys, fields }) => (keys === undefined ? [] : [[keys, fields] as const])))(
    "has exactly the fields of %s",
    (keys, fields) => {
      expect(fields.map(([name]) => name).toSorted()).toEqual((readers.get(keys) ?? []).toSorted());
    },
  );

  it("has an example of each kind that a bundle may hold, and they are right", async () => {
    const kinds = ["Package", "Model", "Agent", "Swarm", "Tool", "Tool from an OpenAPI document", "Extension"];
    const bundle = await readSwarmBundle([{ path: "tessera.yaml", text: examples(...kinds).join("---\n") }], {
      builtins: ["bash__exec"],
      isEnvSet: () => true,
    });
    expect(bundle.mistakes).toEqual([]);
    expect(bundle.warnings).toEqual([]);
    expect(bundle.agents).toHaveLength(1);
  });

  it("names only files that a guide writes, and built-in tools that there are", () => {
    const guides = join(ROOT, "docs/guides");
    const written = readdirSync(guides).flatMap((file) =>
      [...readFileSync(join(guides, file), "utf8").matchAll(/title="([^"]+)"/g)].map(([, path]) => `/${path}`),
    );
    const texts = YAML_SECTIONS.map(({ example }) => example ?? "");
    const named = texts.flatMap((text) => [...text.matchAll(/ (?:entry|document|systemRef): \.(\/\S+)/g)]);
    expect(named.length).toBeGreaterThanOrEqual(3);
    expect(named.map(([, path = ""]) => path).filter((path) => !written.some((each) => each.endsWith(path)))).toEqual(
      [],
    );
    const tools = builtinTools({ clock: systemClock }).map(({ definition }) => definition.tool_name.split("__")[0]);
    const builtin = texts.flatMap((text) => [
      ...text.matchAll(/name: ([\w-]+), package: "@(?:goondan|tessera)\/base"/g),
    ]);
    expect(builtin.length).toBeGreaterThan(0);
    expect(builtin.map(([, name]) => name).filter((name) => !tools.includes(name))).toEqual([]);
  });

  it("has an example of each upload, and they are right", () => {
    const [tool = "", profile = ""] = examples("CommonGround tool", "CommonGround profile");
    expect(parseToolUpload(tool, { projectId: "p" })).toMatchObject({
      definitions: [{ tool_name: "words__count" }],
      ignored: [],
    });
    expect(readProfileYaml(profile)).toMatchObject({ profile: { name: "reviewer" }, ignored: [], warnings: [] });
  });
});
