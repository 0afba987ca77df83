// text-transform: small operations on text.
//
//   X1. `search` is text, never a pattern: a pattern of a model could take longer than the process lives.
//   X2. The length of a result is known before it is built; more than TEXT_CHARS_MAX is refused.
//   X3. Positions count UTF-16 units, as everywhere in JavaScript. Half a character at a cut becomes U+FFFD, because no card
//       can hold it.

import { errorOf } from "@tessera/protocol";
import { defineTool, type RegisteredTool } from "@tessera/tool";

const TEXT_CHARS_MAX = 1024 * 1024;

const text = { type: "string" } as const;
const delimiter = { type: "string", default: "\n" } as const;
const common = { errorMessageLimit: 1_000, timeoutMs: 30_000, placement: "inline", effect: "read" } as const;

const replace = defineTool({
  ...common,
  name: "text-transform__replace",
  description: "Replaces the first, or every, occurrence of a text by another. No patterns.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text", "search"],
    properties: {
      text,
      search: { type: "string", minLength: 1 },
      replacement: { type: "string", default: "" },
      all: { type: "boolean", default: false },
    },
  },
  handler: (_ctx, input) => {
    const parts = input.text.split(input.search); // X1
    const replacements = input.all ? parts.length - 1 : Math.min(1, parts.length - 1);
    checkLength(input.text.length + replacements * (input.replacement.length - input.search.length));
    const [first = "", ...rest] = parts;
    const after = input.all ? rest.map((part) => input.replacement + part).join("") : afterFirst(input, rest);
    return { original: input.text, result: (first + after).toWellFormed(), replacements };
  },
});

const slice = defineTool({
  ...common,
  name: "text-transform__slice",
  description: "A part of a text, from start to before end; negative positions count from the end.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text"],
    properties: { text, start: { type: "number", default: 0 }, end: { type: "number" } },
  },
  handler: (_ctx, input) => {
    const end = input.end ?? input.text.length;
    const result = input.text.slice(input.start, end).toWellFormed(); // X3
    return { original: input.text, result, start: input.start, end, length: result.length };
  },
});

const split = defineTool({
  ...common,
  name: "text-transform__split",
  description: "The parts of a text between delimiters; parts beyond maxParts are dropped.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text"],
    properties: { text, delimiter, maxParts: { type: "integer", minimum: 1 } },
  },
  handler: (_ctx, input) => {
    const all = input.delimiter === "" ? [...input.text] : input.text.split(input.delimiter);
    const parts = all.slice(0, input.maxParts ?? all.length);
    return { delimiter: input.delimiter, count: parts.length, parts };
  },
});

const join = defineTool({
  ...common,
  name: "text-transform__join",
  description: "One text out of several, with a delimiter between them.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["parts"],
    properties: { parts: { type: "array", items: { type: ["string", "number", "boolean"] } }, delimiter },
  },
  handler: (_ctx, input) => {
    const parts = input.parts.map(String);
    const texts = parts.reduce((sum, part) => sum + part.length, 0);
    checkLength(texts + Math.max(0, parts.length - 1) * input.delimiter.length);
    return { delimiter: input.delimiter, count: parts.length, result: parts.join(input.delimiter) };
  },
});

const trim = defineTool({
  ...common,
  name: "text-transform__trim",
  description: "A text without the blanks around it, and in trimmedLength how many they were.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text"],
    properties: { text, mode: { type: "string", enum: ["both", "start", "end"], default: "both" } },
  },
  handler: (_ctx, input) => {
    const { text: original, mode } = input;
    const result = mode === "both" ? original.trim() : mode === "start" ? original.trimStart() : original.trimEnd();
    return { original, result, mode, trimmedLength: original.length - result.length };
  },
});

const changeCase = defineTool({
  ...common,
  name: "text-transform__case",
  description: "A text in upper or lower case.",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["text", "to"],
    properties: { text, to: { type: "string", enum: ["upper", "lower"] } },
  },
  handler: (_ctx, input) => {
    const result = input.to === "upper" ? input.text.toUpperCase() : input.text.toLowerCase();
    return { original: input.text, result, to: input.to };
  },
});

export const textTransformTools: readonly RegisteredTool[] = [replace, slice, split, join, trim, changeCase];

function afterFirst(input: { readonly search: string; readonly replacement: string }, rest: readonly string[]): string {
  return rest.length === 0 ? "" : input.replacement + rest.join(input.search);
}

/** X2. */
function checkLength(chars: number): void {
  if (chars > TEXT_CHARS_MAX) {
    throw errorOf("payload_too_large", `the result would have ${chars} characters, more than ${TEXT_CHARS_MAX}`);
  }
}
