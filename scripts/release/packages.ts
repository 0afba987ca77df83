// What is published: which parts of the workspace make which package, and what people may import of it.
//
// The names themselves are `PACKAGES` in packages/protocol/src/product.ts.

import { PACKAGES, SCHEMA_FOLDER, SUBPATHS } from "@tessera/protocol";

export interface PackagePlan {
  /** As it is published. */
  readonly name: string;
  /** The folder of packages/ that describes it: manifest and README. */
  readonly described: string;
  /** The folders of packages/ whose code travels in it, each as far as it can be reached from `exports` and `bin`. */
  readonly parts: readonly string[];
  /** Subpath → the specifier of the workspace that it means. What lies under ./internal is for our own packages only. */
  readonly exports: Readonly<Record<string, string>>;
  /** Command → module of the workspace. */
  readonly bin?: Readonly<Record<string, string>>;
  /** Files and folders that travel besides the code: path in the repository → path in the package. */
  readonly files?: Readonly<Record<string, string>>;
  /** Bounds of the tarball. A release that needs more says here why. */
  readonly packedKbMax: number;
  readonly unpackedKbMax: number;
}

export const PUBLISHED: readonly PackagePlan[] = [
  {
    name: PACKAGES.tool,
    described: "tool",
    parts: ["protocol", "tool"],
    exports: {
      ".": "@tessera/tool",
      "./internal/catalog": "@tessera/tool/catalog",
      "./internal/protocol": "@tessera/protocol",
      "./internal/resources": "@tessera/tool/resources",
      "./internal/run": "@tessera/tool/run",
    },
    files: { "packages/protocol/schema": "protocol/schema" },
    packedKbMax: 500,
    unpackedKbMax: 2_500,
  },
  {
    name: PACKAGES.client,
    described: "client",
    parts: ["client", "protocol"],
    exports: { ".": "@tessera/client" },
    // The error catalogue, and how each document is spelled on the wire.
    packedKbMax: 150,
    unpackedKbMax: 750,
  },
  {
    name: PACKAGES.main,
    described: "tessera",
    parts: ["tessera", "cli", "runtime", "server", "pmo", "agent", "executor", "engines", "kernel"],
    exports: {
      ".": "@tessera/tessera",
      ...Object.fromEntries(SUBPATHS.map((subpath) => [`./${subpath}`, `@tessera/tessera/${subpath}`])),
    },
    bin: { tessera: "cli/bin/tessera" },
    files: {
      "CHANGELOG.md": "CHANGELOG.md",
      deploy: "deploy",
      "docs/README.md": "docs/README.md",
      "docs/guarantees.md": "docs/guarantees.md",
      "docs/guides": "docs/guides",
      "docs/reference": "docs/reference",
      "examples/python-executor": "examples/python-executor",
      "examples/quickstart/tessera.config.ts": "examples/quickstart/tessera.config.ts",
      "examples/quickstart/tessera.yaml": "examples/quickstart/tessera.yaml",
      "examples/quickstart/tools": "examples/quickstart/tools",
      "examples/raw-tool-service": "examples/raw-tool-service",
      "packages/cli/templates": "cli/templates",
      "packages/kernel/sql": "kernel/sql",
      [`packages/tessera/${SCHEMA_FOLDER}`]: SCHEMA_FOLDER,
    },
    packedKbMax: 5_000,
    unpackedKbMax: 20_000,
  },
];

/** Dependencies that people's own code has, too: a range lets npm install one copy of each. All others are those that the tests
 *  ran with, exactly. */
export const SHARED: Readonly<Record<string, string>> = {
  // Finds the tracer that the program set up, in a copy that is not older than this one.
  "@opentelemetry/api": "^1.9.0",
  // In declarations of the AI SDK, which does not ask for them.
  "@types/json-schema": "^7.0.15",
  // The AI SDK's peer. Tools may be written with another one.
  zod: "^3.25.76 || ^4.1.8",
};
