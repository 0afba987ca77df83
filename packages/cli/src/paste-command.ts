// Parts of a command that a person is told to paste.

import type { ProjectFlags } from "./flags.ts";

/** The same store and project. URLs may hold passwords, so they are left to whoever has them. */
export function storeWords({ data, postgres, nats, project }: Omit<ProjectFlags, "json">): string[] {
  return [
    ...(data === undefined ? [] : ["--data", quoted(data)]),
    ...(postgres === undefined ? [] : ["--postgres URL"]),
    ...(nats === undefined ? [] : ["--nats URL"]),
    ...(project === "default" ? [] : ["--project", project]),
  ];
}

export function quoted(text: string): string {
  return /^[\w./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
