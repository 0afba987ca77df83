// The client runs in browsers: its sources use nothing of Node, and load nothing but one another and the errors of the protocol,
// which are as light (types are not loaded).

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";

const FOLDER = import.meta.dirname;
const PROTOCOL = "../../protocol/src/errors";
const own = readdirSync(FOLDER).filter((name) => name.endsWith(".ts") && !name.endsWith(".test.ts"));
const sources = [...own, `${PROTOCOL}/errors.ts`, `${PROTOCOL}/error-catalogue.ts`];
const textOf = (name: string) => readFileSync(join(FOLDER, name), "utf8");
const withoutComments = (text: string) => text.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*$/gm, "");

describe("the sources of the client", () => {
  it("are found", () => {
    expect(sources).toContain("create-client.ts");
  });

  it.each(sources)("%s uses only what a browser has", (name) => {
    const text = withoutComments(textOf(name));
    // The catalogue is prose, which may speak of processes.
    const code = name.endsWith("error-catalogue.ts") ? text.replaceAll(/"(?:[^"\\\n]|\\.)*"/g, '""') : text;
    expect(code).not.toMatch(/\bnode:|\bprocess\s*[.[]|\bBuffer\b|\brequire\s*\(|\b__dirname\b|\bsetImmediate\b/);
    if (name === `${PROTOCOL}/errors.ts`) expect(text).toContain('from "./error-catalogue.ts"');
    const loaded = [...text.matchAll(/^(import|export)(?! type\b)[^;]*?\bfrom "([^"]+)"/gm)].map(([, , from]) => from);
    const others = loaded.filter((from) => !from?.startsWith("./"));
    expect(others.filter((from) => name.startsWith(PROTOCOL) || from !== "@tessera/protocol/errors")).toEqual([]);
  });
});
