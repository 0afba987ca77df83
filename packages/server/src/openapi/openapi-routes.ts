// The API about itself: /openapi.json for programs, /llms.txt for models. Both are made once, from the table that is served;
// what makes them is loaded with the first request.

import Type from "typebox";
import type { ServerPorts } from "../ports.ts";
import type { RouteSpec } from "../routing/route-spec.ts";

const ANSWER_BYTES = 256 * 1024;
const UNKNOWN_VERSION = "0.0.0";

export function openApiRoutes(world: {
  /** The whole table, these two included. */
  readonly routes: () => readonly RouteSpec[];
  readonly ports: ServerPorts;
}): RouteSpec[] {
  const { routes, ports } = world;
  let document: string | null = null;
  let text: string | null = null;
  const common = { tag: "health", method: "GET", roles: "anyone", answerBytes: ANSWER_BYTES } as const;
  return [
    {
      ...common,
      id: "getOpenApi",
      summary: "Read this API as an OpenAPI 3.1 document.",
      path: "/openapi.json",
      answers: { 200: Type.Object({}) },
      async handle() {
        const { openApiDocument } = await import("./openapi.ts");
        document ??= JSON.stringify(openApiDocument(routes(), { version: ports.version ?? UNKNOWN_VERSION }));
        return { status: 200, headers: { "content-type": "application/json; charset=utf-8" }, body: document };
      },
    },
    {
      ...common,
      id: "getLlmsText",
      summary: "Read this API on one page, for a language model.",
      path: "/llms.txt",
      answerType: "text/plain",
      answers: { 200: Type.String() },
      async handle() {
        const { llmsText } = await import("./llms-text.ts");
        text ??= llmsText(routes());
        return { status: 200, body: text };
      },
    },
  ];
}
