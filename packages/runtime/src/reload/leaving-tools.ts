// Tools that went out of a bundle: their names go out of the project, as soon as no call waits for them.
//
//   L1. Only the definition that this process wrote goes: one that another process wrote under the name stays.
//   L2. A call that waits keeps its tool's name (l0.put_tools refuses); it is asked again until it may go.

import type { Clock, Kernel, Timer } from "@tessera/kernel";

export interface LeavingTools {
  /** Name → the digest that this process wrote. */
  leave(tools: ReadonlyMap<string, string>): Promise<void>;
  /** They are in the bundle again. */
  keep(names: Iterable<string>): void;
  stop(): void;
}

const ASK_AGAIN_MS = 1_000;

export function createLeavingTools(of: {
  readonly kernel: Pick<Kernel, "removeTool">;
  readonly project: string;
  readonly clock: Pick<Clock, "after">;
  readonly onWarning: (warning: string) => void;
}): LeavingTools {
  const { kernel, project: project_id, clock, onWarning } = of;
  const leaving = new Map<string, string>();
  let timer: Timer | null = null;
  let isStopped = false;

  async function ask(): Promise<void> {
    for (const [tool_name, expected_digest] of leaving) {
      const answer = await kernel.removeTool({ project_id, tool_name, expected_digest }); // L1
      if (answer.outcome !== "rejected" || answer.code !== "conflict") leaving.delete(tool_name); // L2
    }
  }

  function askAgain(): void {
    timer?.cancel();
    if (leaving.size === 0 || isStopped) return;
    timer = clock.after(ASK_AGAIN_MS, () => {
      void ask()
        .catch(
          (error: unknown) =>
            isStopped || onWarning(`tools that left the bundle could not be removed: ${String(error)}`),
        )
        .then(askAgain);
    });
  }

  return {
    async leave(tools) {
      for (const [name, digest] of tools) leaving.set(name, digest);
      await ask().finally(askAgain);
    },
    keep(names) {
      for (const name of names) leaving.delete(name);
    },
    stop() {
      isStopped = true;
      timer?.cancel();
    },
  };
}
