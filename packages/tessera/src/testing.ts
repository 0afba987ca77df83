// @tessera/tessera/testing: what the unit test of a tool imports.

export { createTestContext, type TestContext, type TestContextOptions } from "@tessera/tool";
