// Parts of a command that a person is told to paste.

import type { ApiFlags } from "./flags.ts";

/** The same server or store, and project. URLs of databases may hold passwords: they are left to whoever has them. */
export function storeWords({ url, data, postgres, nats, project }: Omit<ApiFlags, "json">): string[] {
  return [
    ...(url === undefined ? [] : ["--url", quoted(url)]),
    ...(data === undefined ? [] : ["--data", quoted(data)]),
    ...(postgres === undefined ? [] : ["--postgres URL"]),
    ...(nats === undefined ? [] : ["--nats URL"]),
    ...(project === "default" ? [] : ["--project", project]),
  ];
}

export function quoted(text: string): string {
  return /^[\w.:/-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
