// Parts of a command for a person to paste.

import type { ApiFlags } from "../flags/flags.ts";
import type { Terminal } from "./printing-gate.ts";

/**
 * The same server or store, and project. URLs of databases may hold passwords, which are never shown: a URL that came from
 * the environment is named by its variable, another one stands without its password.
 */
export function storeWords(
  { url, data, postgres, nats, project }: Omit<ApiFlags, "json">,
  env: Terminal["env"] = {},
): string[] {
  return [
    ...(url === undefined ? [] : ["--url", quoted(url)]),
    ...(data === undefined ? [] : ["--data", quoted(data)]),
    ...(postgres === undefined ? [] : ["--postgres", urlWord(postgres, "TESSERA_POSTGRES", env)]),
    ...(nats === undefined ? [] : ["--nats", urlWord(nats, "TESSERA_NATS", env)]),
    ...(project === "default" ? [] : ["--project", project]),
  ];
}

function urlWord(url: string, variable: string, env: Terminal["env"]): string {
  if (env[variable] === url) return `"$${variable}"`;
  const parsed = URL.parse(url);
  if (parsed === null) return "URL";
  const isSecret = [...parsed.searchParams.keys()].some((name) => /password|token/i.test(name));
  if (parsed.password === "" && !isSecret) return quoted(url);
  parsed.password = "";
  if (isSecret) parsed.search = "";
  return quoted(parsed.href);
}

export function quoted(text: string): string {
  return /^[\w.:/@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
