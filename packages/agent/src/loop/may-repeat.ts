// Whether a call that runs here may be tried again here: asked of the kernel before each further attempt.

import type { Kernel } from "@tessera/kernel";

/** False: the call was given to somebody else while it paused, or ended. */
export function mayRepeat(
  { kernel, workerId }: { readonly kernel: Kernel; readonly workerId: () => string },
  call: { readonly project_id: string; readonly tool_call_id: string },
): (attempt: number) => Promise<boolean> {
  return async (attempt) => {
    const { outcome } = await kernel.repeatCall({ ...call, worker_id: workerId(), attempt });
    return outcome !== "rejected";
  };
}
