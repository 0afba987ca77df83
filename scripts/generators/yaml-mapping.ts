// What may stand in YAML, as data: mappings and their fields, and the sections of the page that show them.

/** Name, type, default (`required` where there is none and one is needed, empty where there is none), one sentence. */
export type YamlField = readonly [name: string, type: string, preset: string, says: string];

export interface YamlMapping {
  /** Where it stands: `spec`, `spec.policy`. */
  readonly at: string;
  /** The constant of a reader that holds the same keys: `agent-resource.ts SPEC_KEYS`. */
  readonly keys?: string;
  readonly fields: readonly YamlField[];
}

export interface YamlSection {
  readonly title: string;
  readonly text: string;
  readonly mappings: readonly YamlMapping[];
  readonly example?: string;
}
