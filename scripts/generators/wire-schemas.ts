// packages/protocol/schema: the JSON Schemas of what goes over the wire.

import { WIRE_SCHEMAS } from "@tessera/protocol";
import type { Generator } from "./generator.ts";

const FOLDER = "packages/protocol/schema";

export const wireSchemas: Generator = {
  name: "wire schemas",
  folder: FOLDER,
  files: () =>
    new Map(
      Object.entries(WIRE_SCHEMAS).map(([name, schema]) => [
        `${FOLDER}/${name}.json`,
        `${JSON.stringify(schema, null, 2)}\n`,
      ]),
    ),
};
