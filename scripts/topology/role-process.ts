// One `tessera start --role …` as a process that ends with this one.

import { join } from "node:path";
import { TestChild } from "../../packages/testkit/src/child-process.ts";

export const TESSERA = join(import.meta.dirname, "../../packages/cli/bin/tessera.js");
const START_MS_MAX = 60_000;

export interface RoleProcess {
  readonly name: string;
  readonly child: TestChild;
  readonly started: StartedMessage;
}

/** What it says when it is ready. */
interface StartedMessage {
  readonly event: string;
  readonly url?: string;
  /** The agent that gets tasks which name none; given by those who load the bundle. */
  readonly entry?: string;
}

export async function startRole(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<RoleProcess> {
  const child = await TestChild.start(TESSERA, { args: ["start", ...args, "--json"], env, detached: true });
  const isStarted = ({ event }: StartedMessage) => event === "started";
  try {
    return { name, child, started: await child.waitForMessage(`that ${name} is up`, isStarted, START_MS_MAX) };
  } catch (error) {
    if (child.exit === null) await child.kill();
    throw error;
  }
}
