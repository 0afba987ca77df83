// Whether the options of a tool's definition make sense: where arguments come from, and how the tool is run. Checked when
// a tool is registered; `toolPolicy` and the gate then read them without looking twice.
//
//   O1. An argument has one source: the model (with or without a default), the definition (fixed) or the executor's
//       environment (envs). Two are a contradiction, refused with `conflicting_arg`.
//   O2. A value that the definition brings fits the argument's schema, unless a template makes it known only later.
//   O3. A number or word out of range is refused with the field's pointer, never repaired.
//   O4. Keys that are not known are left alone (definition.ts D2).

import {
  errorOf,
  gateJson,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonPointer,
  TesseraError,
  TOOL_EFFECTS,
  TOOL_PLACEMENTS,
} from "@tessera/protocol";
import { checkTemplates, hasTemplates } from "../catalog/template.ts";
import { checkEnvName } from "../env-name.ts";
import { ATTEMPTS_MAX_MAX, BACKOFF_MS_MAX, ERROR_MESSAGE_LIMIT_MAX, TIMEOUT_MS_MAX } from "../policy.ts";
import { schemaInvalid } from "../schema/walk.ts";
import { compileParameters } from "./argument-check.ts";
import { type ArgumentSource, compilePlan } from "./argument-plan.ts";
import { propertiesOf } from "./check-parameters.ts";

/** Values of `defaults` and `fixed` together. */
const OPTION_VALUES_BYTES_MAX = 64 * 1024;
const OPTION_VALUES_DEPTH_MAX = 32;
const ARGUMENTS_MAX = 128;

export interface CheckArgumentOptionsOptions {
  /** Where `options` stands in its document. */
  readonly pointer?: string;
  /** Environment variables that this installation lets tools ask for; absent: all but those that are always refused. */
  readonly envAllowList?: readonly string[];
  /** The definition passed before it was stored, so nothing is compiled for it here. */
  readonly isStored?: boolean;
}

/** Refuses a definition whose options cannot be meant. Its `parameters` must have been checked before. */
export function checkArgumentOptions(
  definition: ArgumentSource,
  { pointer = "/options", envAllowList, isStored = false }: CheckArgumentOptionsOptions = {},
): void {
  const { options, parameters } = definition;
  if (!isJsonObject(options)) throw schemaInvalid(pointer, "must be an object");
  const args = section(options.args, `${pointer}/args`);
  for (const name of Object.keys(args)) {
    if (name !== "defaults" && name !== "fixed") {
      throw schemaInvalid(`${pointer}/args${jsonPointer([name])}`, "is neither defaults nor fixed");
    }
  }
  const defaults = section(args.defaults, `${pointer}/args/defaults`);
  const fixed = section(args.fixed, `${pointer}/args/fixed`);
  const envs = section(options.envs, `${pointer}/envs`);
  checkOneSource({ "args/defaults": defaults, "args/fixed": fixed, envs }, pointer);
  if (!isStored) {
    checkValues(parameters, defaults, `${pointer}/args/defaults`);
    checkValues(parameters, fixed, `${pointer}/args/fixed`);
  }
  for (const [name, variable] of Object.entries(envs)) {
    checkEnvName(variable, `${pointer}/envs${jsonPointer([name])}`, envAllowList);
  }
  checkRunOptions(options as JsonObject, pointer);
  if (!isStored) compilePlan(definition); // what the options add to the parameters must leave a schema that compiles
}

function section(value: unknown, pointer: string): JsonObject {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw schemaInvalid(pointer, "must be an object");
  try {
    return gateJson(value, { bytesMax: OPTION_VALUES_BYTES_MAX, depthMax: OPTION_VALUES_DEPTH_MAX }) as JsonObject;
  } catch (error) {
    if (!TesseraError.is(error)) throw error;
    throw schemaInvalid(`${pointer}${String(error.details.pointer ?? "")}`, `cannot be read: ${error.message}`, error);
  }
}

function checkOneSource(sources: Readonly<Record<string, JsonObject>>, pointer: string): void {
  const seen = new Map<string, string>();
  for (const [source, values] of Object.entries(sources)) {
    for (const name of Object.keys(values)) {
      const place = `${pointer}/${source}${jsonPointer([name])}`;
      const other = seen.get(name);
      if (other !== undefined) {
        throw errorOf("conflicting_arg", `${place} gives an argument that ${other} gives as well`, {
          details: { pointer: place, argument: name.slice(0, 64) },
        }); // O1
      }
      seen.set(name, `${pointer}/${source}`);
    }
  }
  if (seen.size > ARGUMENTS_MAX) throw schemaInvalid(pointer, `provides more than ${ARGUMENTS_MAX} arguments`);
}

function checkValues(parameters: JsonObject, values: JsonObject, pointer: string): void {
  const entries = Object.entries(values);
  if (entries.length === 0) return;
  const check = compileParameters({ type: "object", ...propertiesOf(parameters) });
  for (const [name, value] of entries) {
    const place = pointer + jsonPointer([name]);
    checkTemplates(value, place);
    if (hasTemplates(value)) continue;
    const issue = check.issues(Object.assign(Object.create(null) as JsonObject, { [name]: value }))[0];
    if (issue !== undefined) throw schemaInvalid(place, `does not fit the parameters: ${issue}`); // O2
  }
}

type FieldCheck = readonly [path: readonly string[], expected: string, fits: (value: JsonValue) => boolean];

const TIMEOUT_SECONDS_MAX = TIMEOUT_MS_MAX / 1_000;

const FIELDS: readonly FieldCheck[] = [
  [["effect"], `one of ${TOOL_EFFECTS.join(", ")}`, (value) => TOOL_EFFECTS.some((effect) => effect === value)],
  [["placement"], `one of ${TOOL_PLACEMENTS.join(", ")}`, (value) => TOOL_PLACEMENTS.some((place) => place === value)],
  [["reconcile"], "true or false", (value) => typeof value === "boolean"],
  [["timeoutMs"], `a whole number from 1 to ${TIMEOUT_MS_MAX}`, whole(1, TIMEOUT_MS_MAX)],
  [["timeout_seconds"], `a number above 0 up to ${TIMEOUT_SECONDS_MAX}`, above(0, TIMEOUT_SECONDS_MAX)],
  [["suspend_timeout_seconds"], `a number above 0 up to ${TIMEOUT_SECONDS_MAX}`, above(0, TIMEOUT_SECONDS_MAX)],
  // From 1: the published API says what a limit below the length of the marker means.
  [["errorMessageLimit"], `a whole number from 1 to ${ERROR_MESSAGE_LIMIT_MAX}`, whole(1, ERROR_MESSAGE_LIMIT_MAX)],
  [["retry"], "an object", (value) => isJsonObject(value)],
  [["retry", "max_attempts"], `a whole number from 1 to ${ATTEMPTS_MAX_MAX}`, whole(1, ATTEMPTS_MAX_MAX)],
  [["retry", "backoff"], `milliseconds from 0 to ${BACKOFF_MS_MAX}`, whole(0, BACKOFF_MS_MAX)],
];

/** O3 */
function checkRunOptions(options: JsonObject, pointer: string): void {
  for (const [path, expected, fits] of FIELDS) {
    let value: JsonValue | undefined = options;
    for (const name of path) value = isJsonObject(value) ? value[name] : undefined;
    if (value === undefined || fits(value)) continue;
    throw schemaInvalid(`${pointer}/${path.join("/")}`, `must be ${expected}`);
  }
}

function whole(min: number, max: number): (value: JsonValue) => boolean {
  return (value) => Number.isInteger(value) && (value as number) >= min && (value as number) <= max;
}

function above(min: number, max: number): (value: JsonValue) => boolean {
  return (value) => typeof value === "number" && value > min && value <= max;
}
