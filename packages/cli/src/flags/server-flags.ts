// Which server a command asks: --url, or TESSERA_URL where no flag names a store; and with which key.
//
//   U1. A flag wins over the environment: `--data x` is meant even where TESSERA_URL is set.
//   U2. A key comes from a file or the environment, never from the command line, which every user of the machine can read.

import { readFileSync } from "node:fs";
import { BadRequest } from "@tessera/protocol";
import { EXIT } from "../exit-codes.ts";
import { errorWithTodo, usageError } from "../output/failure.ts";
import type { Terminal } from "../output/printing-gate.ts";
import type { ApiFlags } from "./flags.ts";

type ServerChoice = Pick<ApiFlags, "url" | "apiKeyFile" | "data" | "postgres">;

interface ServerAddress {
  readonly url: string;
  readonly apiKey: string;
}

const KEY_TODO = "Set TESSERA_API_KEY, or name a file that holds the key with --api-key-file.";

/** Null: no server was named. */
export function chooseServer(flags: ServerChoice, env: Terminal["env"]): ServerAddress | null {
  const isStoreGiven = flags.data !== undefined || flags.postgres !== undefined;
  if (flags.url !== undefined) {
    if (!isStoreGiven) return { url: flags.url, apiKey: readKey(flags, env) };
    throw usageError("--url names a running server, which has its own store: leave out --data and --postgres");
  }
  const url = env.TESSERA_URL || undefined;
  if (isStoreGiven || url === undefined) {
    if (flags.apiKeyFile !== undefined) throw usageError("--api-key-file goes with --url or TESSERA_URL");
    return null; // U1
  }
  const other = ["TESSERA_DATA", "TESSERA_POSTGRES"].find((name) => env[name]);
  if (other === undefined) return { url, apiKey: readKey(flags, env) };
  throw new BadRequest(
    `cannot choose a server: TESSERA_URL and ${other} are both set; give --url, --data or --postgres`,
  );
}

/** U2 */
function readKey({ apiKeyFile }: ServerChoice, env: Terminal["env"]): string {
  if (apiKeyFile === undefined) {
    if (env.TESSERA_API_KEY) return env.TESSERA_API_KEY;
    throw errorWithTodo("unauthenticated", "there is no key for the server", KEY_TODO, EXIT.configuration);
  }
  let text: string;
  try {
    text = readFileSync(apiKeyFile, "utf8").trim();
  } catch (error) {
    const { code = "unknown" } = error as NodeJS.ErrnoException;
    throw errorWithTodo("bad_request", `cannot read ${apiKeyFile}: ${code}`, "Check the path.", EXIT.configuration);
  }
  if (text !== "") return text;
  throw errorWithTodo("unauthenticated", `there is no key in ${apiKeyFile}: it is empty`, KEY_TODO, EXIT.configuration);
}
