// The roles a process of `tessera start` can have.

export const ROLES = ["kernel", "worker", "pmo", "tools", "api"] as const;
