import { expect, it } from "vitest";
import { withLinks } from "./links.ts";

const destination = {
  files: { "docs/guides": "docs/guides", "packages/tool/README.md": "README.md", LICENSE: "LICENSE" },
  repository: "https://git.example/tessera/blob/v1.0.0",
};

it("a document links what travels with it in the package, and the rest in the repository", () => {
  const document =
    "[a](b.md#c) [it](../decisions/0001-x.md#why) [web](https://web.example/a) [here](#there) [law](../../LICENSE)";
  expect(withLinks(document, "docs/guides/write-a-tool.md", destination)).toBe(
    "[a](b.md#c) [it](https://git.example/tessera/blob/v1.0.0/docs/decisions/0001-x.md#why) " +
      "[web](https://web.example/a) [here](#there) [law](../../LICENSE)",
  );
});

it("a document that has another place in the package has its links from there", () => {
  expect(withLinks("[a](../../docs/guides/write-a-tool.md)", "packages/tool/README.md", destination)).toBe(
    "[a](docs/guides/write-a-tool.md)",
  );
});
