// The system prompt of an Agent: written in place, or in a file of the bundle.

import { isJsonObject } from "@tessera/protocol";
import { isPathInside } from "@tessera/tool/resources";
import type { ReadBundleFile } from "./bundle-path.ts";
import { blockAt, mappingAt, textAt } from "./fields.ts";
import { given, type Mapping, type ResourceReading, shown } from "./resource-reading.ts";

/** A profile is one card, and a card holds 1 MiB. */
export const PROMPT_BYTES_MAX = 256 * 1_024;

const PROMPT_KEYS: ReadonlySet<string> = new Set(["system", "systemRef"]);
const UTF8 = new TextDecoder("utf-8", { fatal: true });

export async function readPrompt(reading: ResourceReading, spec: Mapping, readFile: ReadBundleFile): Promise<string> {
  const prompt = mappingAt(reading, spec, "prompt");
  if (prompt === undefined) return "";
  reading.refuseOthers(prompt, PROMPT_KEYS);
  const system = blockAt(reading, prompt, "system", PROMPT_BYTES_MAX);
  const path = textAt(reading, prompt, "systemRef");
  if (given(prompt.value, "system") !== undefined && given(prompt.value, "systemRef") !== undefined) {
    reading.misfit(`${prompt.pointer}/systemRef`, "prompt has either system or systemRef, not both", "key");
    return "";
  }
  if (path === undefined) return system ?? "";
  const pointer = `${prompt.pointer}/systemRef`;
  if (!isPathInside(path)) {
    reading.misfit(pointer, `systemRef must be a relative path of a file inside the bundle, found ${shown(path)}`);
    return "";
  }
  const bytes = await readFile(path, PROMPT_BYTES_MAX);
  if (bytes === null) {
    reading.mistake("E_CONFIG_REF_NOT_FOUND", pointer, `there is no file ${shown(path)} in the bundle`);
    return "";
  }
  return textOf(reading, bytes, path, pointer);
}

/** An empty text that is written out (`system: ""`) is meant. */
export function warnWithoutPrompt(reading: ResourceReading, { value }: Mapping): void {
  const prompt = given(value, "prompt") ?? {};
  if (!isJsonObject(prompt) || ["system", "systemRef"].some((key) => given(prompt, key) !== undefined)) return;
  const message = "the agent has no prompt (prompt.system or prompt.systemRef), so its model gets nothing but the task";
  reading.warn("/spec/prompt", message);
}

function textOf(reading: ResourceReading, bytes: Uint8Array, path: string, pointer: string): string {
  if (bytes.byteLength > PROMPT_BYTES_MAX) {
    const message = `the file ${shown(path)} is larger than ${PROMPT_BYTES_MAX} bytes`;
    reading.mistake("E_CONFIG_FILE_TOO_LARGE", pointer, message);
    return "";
  }
  let text: string | null = null;
  try {
    text = UTF8.decode(bytes); // takes a byte order mark away
  } catch {
    // said below
  }
  if (text !== null && !text.includes("\0")) return text;
  reading.misfit(pointer, `the file ${shown(path)} is not UTF-8 text`);
  return "";
}
