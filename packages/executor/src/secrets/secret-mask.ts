// Takes known secrets out of whatever leaves an executor: results, errors, logs, progress, messages to other agents.
//
//   M1. Every written form of a secret (secret-forms.ts) in every string and key of a value becomes `***`. A secret
//       shorter than four characters, or a number, is masked only where it is the whole value.
//   M2. Never throws, grows no string but a whole short one, and takes time linear in the value.
//   M3. A message that was cut may end in the beginning of a secret: that is masked too.
//   M4. It is a net, not a wall: a tool that wants to leak finds another way to write it. Give secrets to tools you trust.

import { type JsonValue, TRUNCATION_MARKER } from "@tessera/protocol";
import { createFormFinder, type FormFinder } from "./form-finder.ts";
import { FORM_CHARS_MIN, secretForms } from "./secret-forms.ts";

export const MASK = "***";
/** Deeper values are replaced whole: nothing that passed the JSON gate comes near it. */
const DEPTH_MAX = 128;
const MASKS_MAX = 64;

export interface SecretMask {
  /** Nothing to hide: everything passes as it is. */
  readonly isEmpty: boolean;
  text(text: string): string;
  /** A copy with every string and key masked. Dates and what is not JSON are kept as they are. */
  value<T>(value: T): T;
}

export const NO_SECRETS: SecretMask = { isEmpty: true, text: (text) => text, value: (value) => value };

export function createSecretMask(values: Iterable<string>): SecretMask {
  const secrets = new Set([...values].filter((value) => value !== ""));
  if (secrets.size === 0) return NO_SECRETS;
  const forms = new Set<string>();
  for (const secret of secrets) {
    if (secret.length >= FORM_CHARS_MIN) for (const form of secretForms(secret)) forms.add(form);
  }
  const finder = createFormFinder(forms);
  const text = (given: string): string => (secrets.has(given) ? MASK : maskText(given, finder));
  return { isEmpty: false, text, value: (value) => maskValue(value, text, secrets, 0) as typeof value };
}

/** Masks by their secrets: a long secret has many forms, and a tool's calls all have the same. */
export function createMaskCache(): (values: readonly string[]) => SecretMask {
  const masks = new Map<string, SecretMask>();
  return (values) => {
    if (values.length === 0) return NO_SECRETS;
    const key = JSON.stringify(values);
    const mask = masks.get(key) ?? createSecretMask(values);
    masks.delete(key);
    masks.set(key, mask); // the newest last
    for (const [oldest] of masks) if (masks.size > MASKS_MAX) masks.delete(oldest);
    return mask;
  };
}

function maskText(given: string, finder: FormFinder): string {
  const spans = finder.find(given);
  let masked = "";
  let at = 0;
  for (const [start, end] of spans) {
    masked += given.slice(at, start) + MASK;
    at = end;
  }
  masked = spans.length === 0 ? given : masked + given.slice(at);
  if (!masked.endsWith(TRUNCATION_MARKER)) return masked;
  const kept = masked.slice(0, -TRUNCATION_MARKER.length);
  const started = finder.startedAtEnd(kept);
  return started < FORM_CHARS_MIN ? masked : `${kept.slice(0, kept.length - started)}${MASK}${TRUNCATION_MARKER}`; // M3
}

function maskValue(
  value: unknown,
  text: (given: string) => string,
  secrets: ReadonlySet<string>,
  depth: number,
): unknown {
  if (typeof value === "string") return text(value);
  if (typeof value === "number") return secrets.has(String(value)) ? MASK : value;
  if (typeof value !== "object" || value === null || value instanceof Date) return value;
  if (depth >= DEPTH_MAX) return MASK;
  if (Array.isArray(value)) return value.map((item) => maskValue(item, text, secrets, depth + 1));
  const masked: Record<string, JsonValue> = Object.create(null);
  for (const [key, item] of Object.entries(value)) {
    masked[text(key)] = maskValue(item, text, secrets, depth + 1) as JsonValue;
  }
  return masked;
}
