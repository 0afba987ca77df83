// What a handler's `input` is, read off its parameters. Types only.
//
//   I1. A Standard Schema that validates hands over what it returns, so its output type counts; one that only describes
//       changes nothing, so its input type does.
//   I2. A JSON Schema written in place is read for the words of the Tool API: type, properties, required, enum, const,
//       items. Whatever else it says narrows the value at run time, never wrongly the type.
//   I3. A property with a `default` at the top level is always there: the argument gate fills it in. Deeper it may not be.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "./api.ts";

/** A JSON Schema 2020-12 as a plain object. */
export type RawJsonSchema = { readonly [keyword: string]: unknown };

export type ToolParameters = StandardJSONSchemaV1 | RawJsonSchema;

export type InferToolInput<P> = P extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<P>
  : P extends StandardJSONSchemaV1
    ? StandardJSONSchemaV1.InferInput<P>
    : P extends { readonly properties: infer Properties }
      ? ObjectOf<Properties, RequiredOf<P> | DefaultedOf<Properties>>
      : JsonObject;

/** One value under a schema. */
type ValueOf<S> = S extends { readonly const: infer Constant }
  ? Constant
  : S extends { readonly enum: readonly (infer Member)[] }
    ? Member
    : S extends { readonly type: infer Type }
      ? Type extends readonly (infer Each)[]
        ? TypedValue<Each, S>
        : TypedValue<Type, S>
      : JsonValue;

type TypedValue<Type, S> = Type extends "string"
  ? string
  : Type extends "number" | "integer"
    ? number
    : Type extends "boolean"
      ? boolean
      : Type extends "null"
        ? null
        : Type extends "array"
          ? S extends { readonly items: infer Items }
            ? ValueOf<Items>[]
            : JsonValue[]
          : Type extends "object"
            ? S extends { readonly properties: infer Properties }
              ? ObjectOf<Properties, RequiredOf<S>>
              : JsonObject
            : JsonValue;

type RequiredOf<S> = S extends { readonly required: readonly (infer Name)[] } ? Name : never;

type DefaultedOf<Properties> = {
  [Name in keyof Properties]: Properties[Name] extends { readonly default: unknown } ? Name : never;
}[keyof Properties];

/** A schema whose property names are not known to the compiler says nothing about the object. */
type ObjectOf<Properties, Required> = string extends keyof Properties
  ? JsonObject
  : Flat<
      { -readonly [Name in keyof Properties as Name extends Required ? Name : never]: ValueOf<Properties[Name]> } & {
        -readonly [Name in keyof Properties as Name extends Required ? never : Name]?: ValueOf<Properties[Name]>;
      }
    >;

type Flat<T> = { [Name in keyof T]: T[Name] };
