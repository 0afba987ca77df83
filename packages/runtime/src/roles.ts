// The roles that a process may have, any number of them; any number of processes may have each.

/** What a process may do for a store. */
export const ROLES = ["kernel", "worker", "pmo", "tools", "api"] as const;
/** What a process does for a store: `kernel` sweeps, `worker` thinks, `tools` runs tools, `pmo` delegates, `ui` takes UI
 *  actions, `api` serves HTTP. */
export type Role = (typeof ROLES)[number];
