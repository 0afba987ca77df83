// @tessera/tessera/wire: what a tool service written for CommonGround imports, under the published names, and what connects it.

export * from "@tessera/executor/wire";
export { connectExecutor, type ExecutorLink } from "@tessera/runtime";
