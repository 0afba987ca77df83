// What the YAML gate allows, and the codes it refuses with, for each way a file comes in (docs/design.md#limits).

import {
  BUNDLE_ALIASES_MAX,
  BUNDLE_DOCUMENTS_MAX,
  BUNDLE_FILE_BYTES_MAX,
  type ErrorCode,
  UPLOAD_YAML_ALIASES_MAX,
  UPLOAD_YAML_BYTES_MAX,
  YAML_DEPTH_MAX,
} from "@tessera/protocol";
import type { ScanLimits } from "./yaml-scan.ts";

/** `upload`: a single document of a client. `bundle`: a file of the operator of this process. */
export type YamlKind = "upload" | "bundle";

export interface YamlLimits extends ScanLimits {
  readonly bytesMax: number;
  readonly codes: Readonly<Record<"syntax" | "too_large" | "too_many_documents" | "schema", ErrorCode>>;
}

export const YAML_LIMITS: Readonly<Record<YamlKind, YamlLimits>> = {
  upload: {
    bytesMax: UPLOAD_YAML_BYTES_MAX,
    documentsMax: 1,
    aliasesMax: UPLOAD_YAML_ALIASES_MAX,
    depthMax: YAML_DEPTH_MAX,
    codes: {
      syntax: "bad_request",
      too_large: "payload_too_large",
      too_many_documents: "bad_request",
      schema: "schema_invalid",
    },
  },
  bundle: {
    bytesMax: BUNDLE_FILE_BYTES_MAX,
    documentsMax: BUNDLE_DOCUMENTS_MAX,
    aliasesMax: BUNDLE_ALIASES_MAX,
    depthMax: YAML_DEPTH_MAX,
    codes: {
      syntax: "E_CONFIG_PARSE_ERROR",
      too_large: "E_CONFIG_FILE_TOO_LARGE",
      too_many_documents: "E_CONFIG_TOO_MANY_DOCUMENTS",
      schema: "E_CONFIG_SCHEMA_INVALID",
    },
  },
};
