// An uploaded tool: one YAML document, in either form, to the definitions it registers (POST /projects/{p}/tools).

import type { ToolDefinition } from "../definition.ts";
import type { IgnoredKey } from "./document-reading.ts";
import { errorOfMistakes } from "./place.ts";
import { toolDefinitionsOf } from "./tool-document.ts";
import type { YamlDocument } from "./yaml-document.ts";
import { readYaml } from "./yaml-gate.ts";

export interface ToolUploadOptions {
  readonly projectId: string;
  /** The upload's name, for messages. */
  readonly file?: string | undefined;
  readonly envAllowList?: readonly string[] | undefined;
}

export interface ToolUpload {
  readonly definitions: readonly ToolDefinition[];
  /** Keys that were not used: worth a warning to the client that uploaded it. */
  readonly ignored: readonly IgnoredKey[];
}

const FILE_DEFAULT = "upload.yaml";

/** Reads an upload, or throws the TesseraError of its first mistake with all of them in `details.mistakes`. */
export function parseToolUpload(bytes: Uint8Array | string, options: ToolUploadOptions): ToolUpload {
  const { projectId, file = FILE_DEFAULT, envAllowList } = options;
  const [document] = readYaml(bytes, { kind: "upload", file }) as readonly [YamlDocument];
  const { tools, ignored, mistakes } = toolDefinitionsOf(document, {
    source: "upload",
    projectId,
    envAllowList,
  });
  const [first, ...rest] = mistakes;
  if (first !== undefined) throw errorOfMistakes([first, ...rest]);
  return { definitions: tools.map((tool) => tool.definition), ignored };
}
