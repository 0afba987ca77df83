// What a handler's `input` is, and what its caller gives, read off its parameters. Types only.
//
//   I1. A Standard Schema that validates hands over what it returns, so its output type counts; one that only describes
//       changes nothing, so its input type does.
//   I2. A JSON Schema written in place is read for the words of the Tool API: type, properties, required, enum, const,
//       items. Whatever else it says narrows the value at run time, never wrongly the type.
//   I3. A property with a `default` at the top level is always there: the argument gate fills it in. Deeper it may not be. A
//       caller may leave it out.

import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";
import type { JsonObject, JsonValue } from "./api.ts";

/** A JSON Schema 2020-12 as a plain object. Written in place, its types are those of the handler's `input`. */
export type RawJsonSchema = { readonly [keyword: string]: unknown };

/** What `parameters` may be: a schema of a library that describes itself as JSON Schema (zod, valibot, arktype …), or a JSON
 *  Schema. */
export type ToolParameters = StandardJSONSchemaV1 | RawJsonSchema;

/** What a handler gets as `input`: what the schema's own check returns, or what a JSON Schema says. */
export type InferToolInput<P> = P extends StandardSchemaV1
  ? StandardSchemaV1.InferOutput<P>
  : P extends StandardJSONSchemaV1
    ? StandardJSONSchemaV1.InferInput<P>
    : P extends { readonly properties: infer Properties }
      ? ObjectOf<Properties, RequiredOf<P> | DefaultedOf<Properties>>
      : JsonObject;

/** What a caller gives: what the schema's own check takes, or what a JSON Schema says without what it fills in. */
export type InferToolArguments<P> = P extends StandardJSONSchemaV1
  ? StandardJSONSchemaV1.InferInput<P>
  : P extends { readonly properties: infer Properties }
    ? ObjectOf<Properties, Exclude<RequiredOf<P>, DefaultedOf<Properties>>>
    : JsonObject;

/** What a caller of a tool gives: {@link InferToolArguments}, where what its definition fills in by itself may be left out. */
export type ToolArguments<P, Filled extends string> = [Filled] extends [never]
  ? InferToolArguments<P>
  : WithOptional<InferToolArguments<P>, Filled>;

type WithOptional<Arguments, Name extends string> = Arguments extends unknown
  ? Flat<Omit<Arguments, Name> & Partial<Pick<Arguments, Name & keyof Arguments>>>
  : never;

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
