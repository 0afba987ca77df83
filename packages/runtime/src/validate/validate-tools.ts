// What the tools and extensions of a bundle need to work: modules with the right exports, a process that serves them, variables.

import type { SwarmBundle } from "@tessera/agent";
import { credentialVariables, findEntry, type IsolatedHost, type LoadedBundle } from "@tessera/executor";
import { isJsonObject, parseTargetSubject, TesseraError } from "@tessera/protocol";
import type { ToolDefinition } from "@tessera/tool";
import { readYaml, type YamlDocument } from "@tessera/tool/resources";
import { type Finding, findingOf, START, warningFinding } from "./validate-finding.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface ToolDocument {
  readonly name: string;
  readonly document: YamlDocument;
}

/** The Tool resources of the YAML files, whatever is wrong with them. */
export function toolDocuments({ files }: LoadedBundle): readonly ToolDocument[] {
  return files.flatMap((file) => {
    try {
      return readYaml(file.text, { kind: "bundle", file: file.path }).flatMap((document): ToolDocument[] => {
        const { value } = document;
        const metadata = isJsonObject(value) && value.kind === "Tool" ? value.metadata : undefined;
        return isJsonObject(metadata) && typeof metadata.name === "string" ? [{ name: metadata.name, document }] : [];
      });
    } catch (error) {
      if (TesseraError.is(error)) return []; // reported when the tools were read
      throw error;
    }
  });
}

export function hasTools(resource: string, toolNames: readonly string[]): boolean {
  return toolNames.some((tool) => tool.startsWith(`${resource}__`));
}

/** A child that looks at a module for handlers says what else it exports. */
export async function extensionFindings(
  { extensions }: SwarmBundle,
  root: string,
  isolated: Pick<IsolatedHost, "inspect">,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { name, entry, ...at } of extensions) {
    try {
      const file = await findEntry(entry, root, at.file);
      const exported = await isolated.inspect(file, root).then(
        () => "handlers",
        (error: Error) => /exports no "handlers"; it exports (.+)$/s.exec(error.message)?.[1] ?? error,
      );
      if (typeof exported !== "string") throw exported;
      if (exported.split(", ").includes("register")) continue;
      const message = `the module ${entry} exports no register(api, config); it exports ${exported}`;
      found.push(findingOf("error", "E_EXT_LOAD", { ...at, pointer: "/spec/entry", message }));
    } catch (error) {
      if (!TesseraError.is(error)) throw error;
      found.push(
        findingOf("error", error.code, { ...at, pointer: "/spec/entry", message: `${name}: ${error.message}` }),
      );
    }
  }
  return found;
}

/** What tools need from elsewhere: a process that serves them, and variables. */
export async function toolFindings(
  { declared, tools, config }: LoadedBundle,
  documents: readonly ToolDocument[],
  env: Environment,
): Promise<Finding[]> {
  const found: Finding[] = [];
  for (const { name, document } of documents) {
    const own = declared.filter(({ definition }) => definition.tool_name.startsWith(`${name}__`));
    const [first] = own;
    if (first === undefined || first.file !== document.file || first.entry !== undefined) continue;
    const at = { file: document.file, pointer: "/spec", ...document.locate("/spec", "key") };
    const { target } = parseTargetSubject(first.definition.target_subject);
    const isWritten = isWrittenPlacement(document);
    const by = first.definition.options.placement === "edge" ? "claims calls of" : "listens on";
    const served = `Tool/${name} has no entry: it is served by the process that ${by} target ${target}`;
    const message = isWritten
      ? served
      : `${served}; write entry for code of this bundle, or placement: service to mean this`;
    found.push(
      findingOf(isWritten ? "info" : "warning", isWritten ? "served_elsewhere" : "no_entry", { ...at, message }),
    );
  }
  const places = new Map(declared.map((tool) => [tool.definition.tool_name, tool]));
  for (const { definition } of [...declared, ...tools.filter((tool) => !places.has(tool.definition.tool_name))]) {
    const { file, line, column } = places.get(definition.tool_name) ?? { file: config?.file ?? "", ...START };
    for (const variable of await variablesOf(definition)) {
      if (env[variable]) continue;
      const message = `the tool ${definition.tool_name} needs the environment variable ${variable}, which is not set`;
      found.push(warningFinding({ file, line, column, message }));
    }
  }
  return found.filter(({ file }) => file !== "");
}

/** Tools of the bundle that are named like a built-in: told once for each resource. */
export function builtinNameFindings({ declared, tools, config }: LoadedBundle, builtins: readonly string[]): Finding[] {
  const found = new Map<string, Finding>();
  const places = new Map(declared.map((tool) => [tool.definition.tool_name, tool]));
  for (const { definition } of [...declared, ...tools]) {
    const { tool_name } = definition;
    const [resource = tool_name] = tool_name.split("__");
    const at = places.get(tool_name) ?? { file: config?.file ?? "", ...START };
    if (!builtins.includes(tool_name) || found.has(resource) || at.file === "") continue;
    const message = `${tool_name} is named like a built-in tool; in a project with this bundle the name means this one, and the built-in is not offered`;
    found.set(resource, findingOf("info", "named_like_builtin", { ...at, message }));
  }
  return [...found.values()];
}

async function variablesOf(definition: ToolDefinition): Promise<string[]> {
  const { envs } = definition.options;
  const named = isJsonObject(envs) ? Object.values(envs).map(String) : [];
  return [...new Set([...named, ...(await credentialVariables(definition))])];
}

function isWrittenPlacement({ value }: YamlDocument): boolean {
  const spec = isJsonObject(value) && isJsonObject(value.spec) ? value.spec : {};
  const options = isJsonObject(spec.options) ? spec.options : {};
  return (spec.placement ?? options.placement ?? null) !== null;
}
