// Resources as text, for tests of their readers.

import { readSwarmBundle, type SwarmBundle, type SwarmBundleOptions } from "./swarm-bundle.ts";

export const BUILTINS = ["bash__exec", "bash__script", "wait__seconds"];

/** A resource with its spec written as it would stand under `spec:`, indented by two. */
export function resource(kind: string, name: string, spec = ""): string {
  return `apiVersion: tessera/v1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${spec === "" ? "" : `spec:\n${spec}`}`;
}

export const MODEL = resource("Model", "fast", "  provider: openai\n  model: gpt-x\n");
export const WEATHER = resource(
  "Tool",
  "weather",
  "  entry: ./weather.ts\n  exports:\n    - name: forecast\n    - name: alerts\n",
);

export async function read(
  documents: readonly string[],
  options: Partial<SwarmBundleOptions> = {},
): Promise<SwarmBundle> {
  const files = [{ path: "goondan.yaml", text: documents.join("---\n") }];
  return await readSwarmBundle(files, { builtins: BUILTINS, ...options });
}

/** `code line:col message` without the file, as short as a table wants it. */
export function told({ mistakes }: Pick<SwarmBundle, "mistakes">): readonly string[] {
  return mistakes.map(({ code, line, column }) => `${code.replace("E_CONFIG_", "")} ${line}:${column}`);
}
