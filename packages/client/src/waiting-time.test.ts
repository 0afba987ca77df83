// The time limit of calls that ask the server to wait.

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { openDouble } from "../test/api-double.ts";
import { createClient } from "./create-client.ts";
import { timeoutFor, WAIT_MARGIN_MS, WAITING } from "./waiting-time.ts";
import { camelCase } from "./wire-form.ts";

interface BodySchema {
  readonly properties?: Readonly<Record<string, { readonly default?: number }>>;
}
interface Operation {
  readonly operationId: string;
  readonly requestBody?: { readonly content: { readonly "application/json"?: { readonly schema: BodySchema } } };
}

it("is longer than the server waits, also when nothing is said", () => {
  const limit = (id: string, body?: object) => timeoutFor(id, body === undefined ? {} : { body }, 60_000);
  expect(limit("godCallPmo")).toBe(180_000 + WAIT_MARGIN_MS);
  expect(limit("godCallPmo", { timeoutSeconds: 600 })).toBe(600_000 + WAIT_MARGIN_MS);
  expect(limit("godCallPmo", { timeoutSeconds: 1 })).toBe(60_000);
  expect(limit("callTool", { waitSeconds: 30 })).toBe(60_000);
  expect(limit("getTurn")).toBe(60_000);
});

it("knows the operations that wait and what they wait for, as the API describes them", () => {
  const file = new URL("../../../docs/reference/openapi.json", import.meta.url);
  const { paths } = JSON.parse(readFileSync(file, "utf8")) as {
    readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  };
  const described = Object.values(paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ operationId, requestBody }) => {
      const fields = Object.entries(requestBody?.content["application/json"]?.schema.properties ?? {});
      const waits = fields.filter(([name]) => /^(wait|timeout)_(ms|seconds)$/.test(name));
      return waits.map(([name, schema]) => [operationId, camelCase(name), schema.default ?? 0] as const);
    });
  const known = Object.entries(WAITING).map(([id, { field, usual }]) => [id, field, usual] as const);
  expect(known.toSorted()).toEqual(described.toSorted());
});

it("counts for the client's methods, and the caller's own limit comes first", async () => {
  const double = await openDouble((_, response) => response.writeHead(204).end());
  const limits: number[] = [];
  const after = (ms: number) => {
    limits.push(ms);
    return { cancel: () => undefined };
  };
  const client = createClient({ url: double.url, timers: { random: () => 0, after } });
  const call = { project: "p", tool: "fork_join", body: { callerAgentId: "boss" } };
  await client.godCallPmo(call);
  await client.godCallPmo({ ...call, timeoutMs: 5 });
  expect(limits).toEqual([180_000 + WAIT_MARGIN_MS, 5]);
});
