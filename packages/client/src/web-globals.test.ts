// The client runs in browsers: its sources use nothing of Node, and load nothing but one another (types are not loaded).

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const sources = readdirSync(FOLDER).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
const textOf = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");

describe("the sources of the client", () => {
  it("are found", () => {
    expect(sources).toContain("create-client.ts");
  });

  it.each(sources)("%s uses only what a browser has", (name) => {
    const text = withoutComments(textOf(name));
    expect(text).not.toMatch(/\bnode:|\bprocess\s*[.[]|\bBuffer\b|\brequire\s*\(|\b__dirname\b|\bsetImmediate\b/);
    const loaded = [...text.matchAll(/^(import|export)(?! type\b)[^;]*?\bfrom "([^"]+)"/gm)].map(([, , from]) => from);
    expect(loaded.filter((from) => !from?.startsWith("./"))).toEqual([]);
  });
});
