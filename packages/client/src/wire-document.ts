// An answer of the client as the API sent it.

import { type Schemas, SHAPES } from "./operations.gen.ts";
import { toWire } from "./wire-form.ts";

/**
 * A document of the API as it is on the wire, with `snake_case` fields: for logs, files and programs in other languages.
 *
 * ```ts
 * import { createClient, wireDocument } from "@tessera/client";
 *
 * const client = createClient({ url: "http://127.0.0.1:8099" });
 * const turn = await client.getTurn({ project: "default", turn: "turn_1" });
 * console.log(JSON.stringify(wireDocument("Turn", turn))); // {"agent_turn_id":"turn_1",…}
 * ```
 */
export function wireDocument<Name extends keyof Schemas>(
  name: Name,
  document: Schemas[Name],
): Readonly<Record<string, unknown>> {
  return toWire(document, name, SHAPES, name) as Readonly<Record<string, unknown>>;
}
