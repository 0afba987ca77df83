// YAML files beside those of a bundle: resources in them are not read, because of their names, and nothing else would say so.

import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoadedBundle } from "@tessera/executor";
import { isApiVersion } from "@tessera/tool/resources";
import { type Finding, findingOf } from "./validate-finding.ts";

const YAML_NAME = /\.ya?ml$/;
const FILES_MAX = 100;
const NAMES = "tessera, goondan, model, agent, tool, swarm, extension or resources (.yaml or .yml; also in the plural)";

export async function unreadFindings({ root, files }: LoadedBundle): Promise<Finding[]> {
  const read = new Set(files.map(({ path }) => path));
  const entries = await readdir(root, { withFileTypes: true });
  const others = entries.filter((entry) => entry.isFile() && YAML_NAME.test(entry.name) && !read.has(entry.name));
  const found: Finding[] = [];
  for (const { name } of others.slice(0, FILES_MAX)) {
    const lines = (await readFile(join(root, name), "utf8").catch(() => "")).split("\n");
    const at = lines.findIndex((line) => {
      const [key, version] = line.replaceAll(/["'\s]/g, "").split(":");
      return key === "apiVersion" && isApiVersion(version);
    });
    if (at < 0) continue;
    const message = `this file holds resources and is not read: a bundle's files are named ${NAMES}`;
    found.push(findingOf("warning", "unread_file", { file: name, line: at + 1, column: 1, message }));
  }
  return found;
}
