// Refuses a Node that is too old in one sentence, where a program imports this package. It is evaluated before all that is imported
// after it; but a name that an old Node's own modules lack fails before anything is evaluated, so those are imported as a whole.
// The `tessera` command looks for itself (packages/cli/bin/tessera.js).

import { errorOf } from "@tessera/protocol";

/** The first version that runs TypeScript sources without a flag. */
const NODE_MIN = [22, 18] as const;
export const NODE_NEEDED = NODE_MIN.join(".");

export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > NODE_MIN[0] || (major === NODE_MIN[0] && minor >= NODE_MIN[1]);
}

if (!isNewEnough(process.versions.node)) {
  const found = `this is Node ${process.versions.node} at ${process.execPath}`;
  throw errorOf(
    "unsupported_version",
    `Node ${NODE_NEEDED} or newer is needed, and ${found}. Install a newer Node: https://nodejs.org`,
  );
}
