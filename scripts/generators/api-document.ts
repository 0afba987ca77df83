// docs/reference/openapi.json, from the table of routes, and the operations of the client, from that document.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describeRoutes } from "@tessera/server";
import { openApiDocument } from "@tessera/server/openapi";
import { CLIENT_OPERATIONS_FILE, clientOperations } from "./client-operations.ts";
import type { Generator } from "./generator.ts";
import type { OpenApiDocument } from "./openapi-document.ts";

export const apiDocument: Generator = {
  name: "OpenAPI document",
  files: async () =>
    new Map([["docs/reference/openapi.json", `${JSON.stringify(await readApiDocument(), null, 2)}\n`]]),
};

export const apiClient: Generator = {
  name: "operations of the client",
  files: async () => new Map([[CLIENT_OPERATIONS_FILE, clientOperations(await readApiDocument())]]),
};

/** As a reader of the file gets it: plain JSON. */
export async function readApiDocument(): Promise<OpenApiDocument> {
  const manifest = readFileSync(join(import.meta.dirname, "../../packages/server/package.json"), "utf8");
  const { version } = JSON.parse(manifest) as { version: string };
  return JSON.parse(JSON.stringify(openApiDocument(await describeRoutes(), { version })));
}
