// The roles of a process of `tessera start`, and those of an API key.

import type { ApiKeyRole } from "@tessera/runtime";

export const ROLES = ["kernel", "worker", "pmo", "tools", "api"] as const;
export const API_KEY_ROLES = ["viewer", "operator", "executor", "admin"] as const satisfies readonly ApiKeyRole[];
