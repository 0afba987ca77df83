// Which files the package's entry loads: what stands on its static imports. The rest is loaded where it is used.

import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { expect, it } from "vitest";

const src = import.meta.dirname;

/** The files that are loaded with an entry, without those of types only and of `import()`. */
function loadedWith(entry: string): string[] {
  const seen = new Set<string>();
  const visit = (path: string): void => {
    if (seen.has(path)) return;
    seen.add(path);
    const statements = readFileSync(path, "utf8").matchAll(
      /^(?:import|export)\s+(?!type\b)(\{[^}]*\}|[^"';]*?)\s*from\s+"(\.[^"]+)";/gms,
    );
    for (const [, names = "", specifier = ""] of statements) {
      const values = names
        .replaceAll(/[{}\s]/g, "")
        .split(",")
        .filter(Boolean);
      const isTypesOnly = names.startsWith("{") && [...names.matchAll(/\btype\s/g)].length === values.length;
      if (!isTypesOnly) visit(join(dirname(path), specifier));
    }
  };
  visit(join(src, entry));
  return [...seen].map((path) => relative(src, path));
}

const isExtensionOrUi = (path: string) => /^(?:extensions|ui)\//.test(path);

it("the entry loads neither the layers of extensions nor UI actions, but only what asks for them", () => {
  const loaded = loadedWith("index.ts");
  expect(loaded).toContain("loop/take-step.ts");
  expect(loaded.filter(isExtensionOrUi)).toEqual([
    "extensions/extension-host.ts",
    "extensions/extensions-on-demand.ts",
    "ui/ui-worker.ts",
  ]);
});

it("the extension host loads its layers and the built-in extensions, and the entry of UI actions what admits them", () => {
  expect(loadedWith("extensions/create-extension-host.ts")).toEqual(
    expect.arrayContaining(["extensions/wrap.ts", "extensions/builtin/index.ts"]),
  );
  expect(loadedWith("ui/index.ts")).toEqual(
    expect.arrayContaining(["ui/ui-admission.ts", "ui/ui-action.ts", "ui/ui-request.ts"]),
  );
});
