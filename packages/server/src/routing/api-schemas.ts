// Schemas that several routes share, for what they take and what they answer.
//
//   A1. Answers are described, not checked: what the store holds is answered even where a description has fallen behind. A
//       test holds the two together.
//   A2. Text that stands for a time is ISO 8601.

import { ID_PATTERN } from "@tessera/protocol";
import Type, { type TProperties, type TSchema } from "typebox";

export const closed = { additionalProperties: false };
export const Id = Type.String({ pattern: ID_PATTERN.source });
export const Text = Type.String();
export const Count = Type.Integer({ minimum: 0 });
export const Time = Type.String({ format: "date-time" }); // A2
export const Anything = Type.Unknown();
export const Facts = Type.Record(Type.String(), Type.Unknown());

export const orNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()]);

/** One of these words. */
export const oneOf = (words: readonly string[]) => Type.Unsafe<string>({ type: "string", enum: [...words] });

/** An answer with a name of its own (R5 in route-spec.ts), and what it is. */
export const named = <Properties extends TProperties>(name: string, description: string, properties: Properties) =>
  Type.Object(properties, { $id: name, description });
