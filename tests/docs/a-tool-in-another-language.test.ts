import { readFileSync } from "node:fs";
import { join } from "node:path";
import { durableOfProject, toolDurable } from "@tessera/protocol";
import { expect, it } from "vitest";
import { ROOT } from "../cli/run-tessera.ts";
import { runGuide } from "./run-guide.ts";

runGuide("a-tool-in-another-language", { servers: true });

it("the guide names the durables of a target as the product does", () => {
  const guide = readFileSync(join(ROOT, "docs/guides/a-tool-in-another-language.md"), "utf8");
  const named = (name: string) => `\`${name.replace("TARGET", "<target>").replace("PROJECT", "<project>")}\``;
  expect(guide).toContain(named(durableOfProject(toolDurable("TARGET"), "PROJECT")));
  expect(guide).toContain(named(toolDurable("TARGET")));
  expect(guide).toContain(`listening on ${durableOfProject(toolDurable("words"), "default")}\n`);
});
