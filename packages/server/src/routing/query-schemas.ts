// Schemas of what a request asks for by its path and query, and of the pages that lists answer.

import { ID_PATTERN } from "@tessera/protocol";
import Type, { type TSchema } from "typebox";
import { orNull, Text } from "./api-schemas.ts";

/** `limit` and `cursor` of a list. */
export function pageQuery(limitMax: number, limitDefault: number) {
  return {
    limit: Type.Integer({
      minimum: 1,
      maximum: limitMax,
      default: limitDefault,
      description: `How many to answer at most, from 1 to ${limitMax}.`,
    }),
    cursor: Type.String({ description: "The next_cursor of the page before." }),
  };
}

/** A list as every list is answered. */
export const pageOf = (plural: string, item: TSchema) =>
  Type.Object({ [plural]: Type.Array(item), next_cursor: orNull(Text) });

/** A path or query parameter that is an id, with what it means. */
export const idQuery = (description: string) => Type.String({ pattern: ID_PATTERN.source, description });
