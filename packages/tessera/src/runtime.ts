// @tessera/tessera/runtime: a process put together from its parts.

export * from "@tessera/runtime";
