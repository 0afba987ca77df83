// @tessera/tool/resources: YAML to resources. Everything that reads YAML from outside goes through `readYaml`.
//
//   an upload (one document)            parseToolUpload
//   the files of a bundle               readToolBundle
//   one document, tools only            toolDefinitionsOf
//   any other kind of resource          readYaml, then `locate(pointer)` of its documents for file:line:col

export type { IgnoredKey } from "./document-reading.ts";
export { isPathInside } from "./entry-path.ts";
export { API_METHODS, type ApiMethod, type ApiOperationChoice, type ApiPlacement, apiHostOf } from "./goondan-api.ts";
export { errorOfMistakes, type Mistake, mistakeOf, type Place } from "./place.ts";
export {
  API_VERSION,
  API_VERSIONS,
  isApiVersion,
  METADATA_KEYS,
  RESOURCE_KINDS,
  type ResourceKind,
  ROOT_KEYS,
} from "./resource-head.ts";
export {
  type BundleFile,
  type BundleResource,
  readToolBundle,
  type ToolBundle,
  type UnreadResource,
} from "./tool-bundle.ts";
export { type DocumentApi, type DocumentTool, type ToolDocument, toolDefinitionsOf } from "./tool-document.ts";
export type { ToolDocumentOptions } from "./tool-draft.ts";
export { parseToolUpload, type ToolUpload, type ToolUploadOptions } from "./tool-upload.ts";
export type { YamlDocument } from "./yaml-document.ts";
export { readYaml, type YamlSource } from "./yaml-gate.ts";
export type { YamlKind } from "./yaml-limits.ts";
