// One document to the tools it defines, in either form.

import { isJsonObject } from "@tessera/protocol";
import { readCommonGroundTool } from "./commonground-tool.ts";
import { type IgnoredKey, startReading } from "./document-reading.ts";
import type { ApiDraft } from "./goondan-api.ts";
import { readGoondanTool } from "./goondan-tool.ts";
import { type Mistake, mistakeOf, type Place } from "./place.ts";
import { isResource } from "./resource-head.ts";
import type { ToolDocumentOptions, ToolDraft } from "./tool-draft.ts";
import type { YamlDocument } from "./yaml-document.ts";

/** A tool and where its document says so. */
export interface DocumentTool extends Omit<ToolDraft, "pointer">, Place {
  readonly file: string;
  /** Where the resource names its module, for what is wrong with that. */
  readonly entryPlace: Place;
}

/** An API whose tools are in a document of its own. The place is where that document is named. */
export interface DocumentApi extends Omit<ApiDraft, "pointer">, Place {
  readonly file: string;
}

export interface ToolDocument {
  /** Empty when there is any mistake: half a resource is none. */
  readonly tools: readonly DocumentTool[];
  /** Instead of tools, and only in a bundle; null, too, when there is any mistake. */
  readonly api: DocumentApi | null;
  readonly ignored: readonly IgnoredKey[];
  readonly mistakes: readonly Mistake[];
}

export function toolDefinitionsOf(document: YamlDocument, options: ToolDocumentOptions): ToolDocument {
  const { file, value } = document;
  if (!isJsonObject(value)) {
    const message = "a tool must be a mapping of fields";
    return {
      tools: [],
      api: null,
      ignored: [],
      mistakes: [mistakeOf("root_must_be_mapping", { file, ...document.locate("") }, message)],
    };
  }
  const reading = startReading(document, value, options.source);
  const { drafts, api } = isResource(value)
    ? readGoondanTool(reading, options)
    : { drafts: readCommonGroundTool(reading, options), api: null };
  const isRight = reading.mistakes.length === 0;
  const placed = <T extends { readonly pointer: string }>({ pointer, ...rest }: T) => ({
    ...rest,
    file,
    ...document.locate(pointer),
  });
  return {
    tools: isRight ? drafts.map((draft) => ({ ...placed(draft), entryPlace: document.locate("/spec/entry") })) : [],
    api: isRight && api !== null ? placed(api) : null,
    ignored: reading.ignored,
    mistakes: reading.mistakes,
  };
}
