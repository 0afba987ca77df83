// Holds what a command printed with --json to its shape: every command that a test runs is checked on the way.
//
//   H1. A shape says all that is there: a field that it does not name is a mistake of one of the two.

import Type from "typebox";
import { Compile, type Validator } from "typebox/compile";
import { JSON_SHAPES, JSON_TYPES, type JsonSchema } from "../../packages/cli/src/output/json-shapes.ts";
import { readApiDocument } from "../../scripts/generators/api-document.ts";
import type { Ran } from "./run-tessera.ts";

const { schemas: COMPONENTS = {} } = (await readApiDocument()).components ?? {};
const PLACE = "#/components/schemas/";
const validators = new Map<JsonSchema, Validator>();

/** The words of the command among these arguments; null: they name none that prints JSON. */
export function commandOf(args: readonly string[]): string | null {
  const words = [args.slice(0, 2).join(" "), args[0] ?? ""];
  return words.find((each) => Object.hasOwn(JSON_SHAPES, each)) ?? null;
}

export function holdJson(args: readonly string[], { exitCode, out }: Pick<Ran, "exitCode" | "out">): void {
  if (!args.includes("--json") || args.includes("--help") || exitCode === null) return;
  const command = commandOf(args);
  const lines = out
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
  const { events, answer } = command === null ? {} : (JSON_SHAPES[command] ?? {});
  const last = lines.at(-1);
  const isFailure = last?.ok === false && exitCode >= 1 && exitCode <= 4 && "error" in last;
  const ends = isFailure || answer !== undefined;
  const problems = [
    ...(lines.length === 0 ? ["nothing"] : []),
    ...lines.slice(0, ends ? -1 : undefined).flatMap((line) => problemsOf(line, events ?? false)),
    ...(ends ? problemsOf(last, isFailure ? named("Failure") : (answer ?? false)) : []),
    ...(ends && last?.ok !== (exitCode === 0) ? [`ok ${last?.ok}, with exit code ${exitCode}`] : []),
    ...(isFailure && (last.error.code === "usage") !== (exitCode === 2) ? [`${last.error.code}, ${exitCode}`] : []),
  ];
  if (problems.length === 0) return;
  throw new Error(`tessera ${args.join(" ")} printed what its shape does not say: ${problems.join("; ")} in ${out}`);
}

function problemsOf(value: unknown, schema: JsonSchema | false): string[] {
  if (schema === false) return [`no shape for ${JSON.stringify(value)}`];
  const validator = validators.get(schema) ?? Compile(Type.Unsafe(closed(schema) as object));
  validators.set(schema, validator);
  if (validator.Check(value)) return [];
  return [...validator.Errors(value)].map(({ instancePath, message }) => `${instancePath} ${message}`);
}

function named(name: string): JsonSchema {
  const schema = JSON_TYPES[name] ?? COMPONENTS[name];
  if (typeof schema !== "object") throw new Error(`there is no shape named ${name}`);
  return schema;
}

/** Every object with exactly its fields (H1), and what is referred to in the place of the reference. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const { $ref, allOf, ...rest } = schema as JsonSchema;
  if (typeof $ref === "string") return closed(named($ref.slice(PLACE.length)));
  if (Array.isArray(allOf)) return merged(allOf.map(closed) as JsonSchema[]);
  const inner = Object.fromEntries(Object.entries(rest).map(([name, value]) => [name, closed(value)]));
  const isClosed = inner.type !== "object" || !("properties" in inner) || "additionalProperties" in inner;
  return isClosed ? inner : { ...inner, additionalProperties: false };
}

/** One object with the fields of all parts. */
function merged(parts: readonly JsonSchema[]): JsonSchema {
  if (parts.some(({ type }) => type !== "object")) throw new Error("a shape joins objects only");
  return {
    type: "object",
    required: parts.flatMap(({ required }) => (required ?? []) as string[]),
    properties: Object.assign({}, ...parts.map(({ properties }) => properties)),
    additionalProperties: false,
  };
}
