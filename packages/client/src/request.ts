// A call's arguments → the request. Pure: nothing is sent here.
//
//   R1. A parameter of the path is one segment: whatever it holds is encoded, and what would change the path (nothing, `.`,
//       `..`) is refused.
//   R2. An argument that the operation does not have is refused: it would be a typo that changes what is asked for.

import { ApiError } from "./api-error.ts";
import { mistake } from "./base-url.ts";
import type { OperationSpec } from "./operation-spec.ts";
import { SHAPES } from "./operations.gen.ts";
import { toWire } from "./wire-form.ts";

export interface PreparedRequest {
  readonly method: OperationSpec["method"];
  /** From the root of the API, with the query. */
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Uint8Array<ArrayBuffer> | null;
}

export type CallArguments = Readonly<Record<string, unknown>>;

const OPTIONS: ReadonlySet<string> = new Set(["signal", "timeoutMs", "onAnswer", "body"]);
const PARAMETER = /\{(\w+)\}/g;
const JSON_TYPE = "application/json";

export function prepareRequest(id: string, spec: OperationSpec, args: CallArguments): PreparedRequest {
  const inPath = [...spec.path.matchAll(PARAMETER)].map(([, name]) => name);
  for (const name of Object.keys(args)) {
    const isKnown =
      OPTIONS.has(name) ||
      Object.hasOwn(spec.headers, name) ||
      inPath.includes(name) ||
      Object.hasOwn(spec.query, name);
    if (!isKnown && args[name] !== undefined) throw mistake(`${id} has no argument ${name}`); // R2
  }
  const path = spec.path.replaceAll(PARAMETER, (_, name: string) => segment(id, name, args[name]));
  const asked = Object.entries(spec.query).filter(([name]) => args[name] !== undefined);
  const query = new URLSearchParams(
    asked.map(([name, wire]): [string, string] => [wire, plain(id, name, args[name])]),
  ).toString();
  const headers: Record<string, string> = {};
  for (const [name, header] of Object.entries(spec.headers)) {
    if (args[name] !== undefined) headers[header] = headerValue(id, name, args[name]);
  }
  const body = bodyOf(id, spec, args.body);
  if (body !== null && spec.body !== null) headers["content-type"] = spec.body;
  return { method: spec.method, target: query === "" ? path : `${path}?${query}`, headers, body };
}

/** R1 */
function segment(id: string, name: string, value: unknown): string {
  const text = plain(id, name, value);
  if (text === "" || text === "." || text === "..") throw mistake(`${name} of ${id} is empty or no id`);
  return encodeURIComponent(text);
}

function plain(id: string, name: string, value: unknown): string {
  if (typeof value === "string") return value.toWellFormed();
  if (typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))) return String(value);
  throw mistake(
    value === undefined ? `${id} needs ${name}` : `${name} of ${id} must be text, a number or true or false`,
  );
}

function headerValue(id: string, name: string, value: unknown): string {
  const text = plain(id, name, value);
  if (/^[\x20-\x7e]+$/.test(text)) return text;
  throw mistake(`${name} of ${id} must be of printable ASCII characters`); // it may be a secret: not repeated
}

function bodyOf(id: string, spec: OperationSpec, body: unknown): PreparedRequest["body"] {
  if (body === undefined) return null;
  if (spec.body === null) throw mistake(`${id} has no body`);
  if (spec.body !== JSON_TYPE) {
    if (typeof body === "string" || body instanceof Uint8Array) return body as string | Uint8Array<ArrayBuffer>;
    throw mistake(`body of ${id} must be text or bytes`);
  }
  let text: string | undefined;
  try {
    text = JSON.stringify(toWire(body, spec.bodyShape, SHAPES, `body of ${id}`));
  } catch (error) {
    if (error instanceof ApiError) throw error;
    // a cycle or a BigInt: said below
  }
  if (text === undefined) throw mistake(`body of ${id} cannot be written as JSON`);
  return text;
}
