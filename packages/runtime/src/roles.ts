// The roles that a process may have, any number of them; any number of processes may have each.

export const ROLES = ["kernel", "worker", "pmo", "tools", "api"] as const;
export type Role = (typeof ROLES)[number];
