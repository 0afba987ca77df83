// What the registry needs to know about documents that define tools. Runtime wires it to the reader of @tessera/tool.

import type { ToolRecord } from "@tessera/kernel";

export interface ToolDocuments {
  /** The definitions of one uploaded document, in its order. Throws a TesseraError that names the line or field at fault. `onCost`
   *  is told the milliseconds that reading it took, either way. */
  parse(
    bytes: Uint8Array,
    source: { readonly projectId: string; readonly file?: string; readonly onCost?: (ms: number) => void },
  ): ParsedToolDocument | Promise<ParsedToolDocument>;
  /** Names that belong to Tessera: nobody can define or remove them. */
  isReservedName(toolName: string): boolean;
}

export interface ParsedToolDocument {
  readonly definitions: readonly Omit<ToolRecord, "project_id">[];
  /** Keys of the document that have no meaning here, for the uploader to see. */
  readonly ignored: readonly unknown[];
}
