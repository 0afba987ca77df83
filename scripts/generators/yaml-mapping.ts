// What may stand in YAML, as data: mappings and their fields, and the sections of the page that show them.

import type { JsonObject } from "@tessera/protocol";
import type { ResourceKind } from "@tessera/tool/resources";
import type { YamlField } from "./yaml-types.ts";

export interface YamlMapping {
  /** Where it stands: `spec`, `spec.policy`. */
  readonly at: string;
  /** The constant of a reader that holds the same keys: `agent-resource.ts SPEC_KEYS`. */
  readonly keys?: string;
  readonly fields: readonly YamlField[];
  /** What JSON Schema says of the whole mapping besides. */
  readonly rules?: readonly JsonObject[];
  /** Fields of an author's own may stand here, too. */
  readonly isOpen?: boolean;
}

export interface YamlSection {
  readonly title: string;
  /** The kind of resource that its mappings make up. */
  readonly kind?: ResourceKind;
  readonly text: string;
  readonly mappings: readonly YamlMapping[];
  readonly example?: string;
}
