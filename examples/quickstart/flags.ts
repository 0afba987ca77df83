// The flags of the quick start. Help ends it with 0, a command line that means nothing with 2: both with the usage.

import { join } from "node:path";
import { parseArgs } from "node:util";
import { EXIT, type ExitCode } from "@tessera/cli";

export const USAGE = `usage: npm start -- [--fresh] [--data DIR] [--port NUMBER]
       npm run demo -- [--resume] [--fresh] [--data DIR]

npm start plans a day trip with four agents, then serves what happened until Ctrl-C; npm run demo ends by itself.
A run that was interrupted is finished by the next start.

  --fresh        begin with an empty store
  --resume       only finish what was left open
  --data DIR     where the store is (default .tessera/quickstart)
  --port NUMBER  where the API listens (default 8099; another one if that is taken)
  --exit         end when the plan is there: npm run demo
`;

const PORT_MAX = 65_535;

export interface Flags {
  readonly exit: boolean;
  readonly resume: boolean;
  readonly fresh: boolean;
  readonly data: string;
  readonly isOwnData: boolean;
  readonly port: string;
}

/** Or what to print, and the exit code. */
export function readFlags(args: readonly string[]): Flags | { readonly says: string; readonly exitCode: ExitCode } {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        exit: { type: "boolean", default: false },
        resume: { type: "boolean", default: false },
        fresh: { type: "boolean", default: false },
        data: { type: "string" },
        port: { type: "string", default: "8099" },
        help: { type: "boolean", short: "h", default: false },
      },
    });
    if (values.help) return { says: USAGE, exitCode: EXIT.ok };
    if (!/^\d{1,5}$/.test(values.port) || Number(values.port) > PORT_MAX) throw new TypeError("--port is no port");
    if (values.data === "") throw new TypeError("--data names no directory");
    const data = values.data ?? join(import.meta.dirname, "../../.tessera/quickstart");
    return { ...values, data, isOwnData: values.data !== undefined };
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    return { says: `quickstart: ${error.message}\n\n${USAGE}`, exitCode: EXIT.usage };
  }
}
