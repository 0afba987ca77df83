// What this build is: its version, and the names of the packages that people install (scripts/release publishes them).
//
// A test holds the manifests of the workspace to both.

export const VERSION = "0.2.0";

export const PACKAGES = {
  /** The command, and all that a program or a bundle imports, by subpath. */
  main: "@tessera/tessera",
  /** What a tool's module needs, and no more. */
  tool: "@tessera/tool",
  client: "@tessera/client",
} as const;

/** What is imported of the main package besides itself. */
export const SUBPATHS = ["agent", "client", "runtime", "testing", "tool", "wire"] as const;

/** Of the main package: the JSON Schema of a bundle's YAML, which files name for their editors. */
export const SCHEMA_FOLDER = "schema";
export const SCHEMA_FILE = "tessera.schema.json";
