// For editors and tsc: what `@goondan/types` is when Tessera loads a tool module.
declare module "@goondan/types" {
  export * from "@tessera/tool";
}
