// @tessera/tessera/tool: what a tool imports. Also a package of its own, which needs no store: @tessera/tool.

export * from "@tessera/tool";
