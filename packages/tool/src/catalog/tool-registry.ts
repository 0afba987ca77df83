// The registry holds every tool that this process knows; a catalog is what one step offers the model.
//
//   R1. A tool is checked in full when it is registered, however it got here: configuration, or `register()` of an
//       extension. Afterwards nothing about it is checked again. Definitions of a store were checked when they were
//       uploaded; of those only what costs nothing is looked at, and a schema that this build does not take refuses calls.
//   R2. A name is given once. A second tool of the name is refused, never put in place of the first.
//   R3. A catalog changes for its step only. A tool that leaves the registry leaves every catalog at once.
//   R4. A refusal names its tool: one of many, of a file that is not known here.

import { Conflict, errorOf, isAfterExecution, isToolName, parseTargetSubject, TesseraError } from "@tessera/protocol";
import { type CheckArgumentOptionsOptions, checkArgumentOptions } from "../arguments/argument-options.ts";
import { checkParameters } from "../arguments/check-parameters.ts";
import type { RegisteredTool, ToolDefinition } from "../definition.ts";
import { isReservedToolName } from "../reserved-names.ts";
import { isInternalTool } from "./internal-tools.ts";
import { type ModelTool, modelTool } from "./model-tool.ts";

/** `envAllowList`: the environment variables that tools of this process may ask for. `isStored`: definitions of a store. */
export type ToolRegistryOptions = Pick<CheckArgumentOptionsOptions, "envAllowList" | "isStored">;

export class ToolRegistry {
  readonly #tools = new Map<string, RegisteredTool>();
  readonly #options: ToolRegistryOptions;

  constructor(options: ToolRegistryOptions = {}) {
    this.#options = options;
  }

  register(tool: RegisteredTool): void {
    const { definition } = tool;
    checkNamed(definition, this.#options); // R1
    if (this.#tools.has(definition.tool_name)) {
      throw new Conflict(`a tool named ${definition.tool_name} is already registered`, {
        details: { tool_name: definition.tool_name },
      }); // R2
    }
    this.#tools.set(definition.tool_name, tool);
  }

  /** Answers whether there was one. */
  unregister(name: string): boolean {
    return this.#tools.delete(name);
  }

  get(name: string): RegisteredTool | undefined {
    return this.#tools.get(name);
  }

  list(): readonly RegisteredTool[] {
    return [...this.#tools.values()];
  }

  /** A new catalog. Null offers everything that is registered now, an empty list nothing; unknown names are left out. */
  catalog(allow: readonly string[] | null = null): ToolCatalog {
    return new ToolCatalog(this, allow ?? [...this.#tools.keys()]);
  }
}

export class ToolCatalog {
  readonly #registry: ToolRegistry;
  readonly #names: Set<string>;

  constructor(registry: ToolRegistry, names: Iterable<string>) {
    this.#registry = registry;
    this.#names = new Set(names);
  }

  has(name: string): boolean {
    return this.get(name) !== undefined;
  }

  get(name: string): RegisteredTool | undefined {
    return this.#names.has(name) ? this.#registry.get(name) : undefined; // R3
  }

  /** Offers one more registered tool. */
  add(name: string): void {
    if (this.#registry.get(name) === undefined) {
      throw errorOf("tool_definition_missing", `no tool named ${JSON.stringify(name.slice(0, 64))} is registered`);
    }
    this.#names.add(name);
  }

  remove(name: string): boolean {
    return this.#names.delete(name);
  }

  list(): readonly RegisteredTool[] {
    return [...this.#names].flatMap((name) => this.#registry.get(name) ?? []);
  }

  toModelTools(): readonly ModelTool[] {
    return this.list().map(({ definition }) => modelTool(definition));
  }
}

/** R4 */
function checkNamed(definition: ToolDefinition, options: ToolRegistryOptions): void {
  try {
    checkDefinition(definition, options);
  } catch (cause) {
    const name = definition.tool_name;
    if (!TesseraError.is(cause) || !isToolName(name)) throw cause;
    throw errorOf(cause.code, `the tool ${name} cannot be used: ${cause.message}`, {
      cause,
      details: { ...cause.details, tool_name: name },
    });
  }
}

function checkDefinition(definition: ToolDefinition, options: ToolRegistryOptions): void {
  const { tool_name, after_execution } = definition;
  if (isInternalTool(definition)) return;
  if (!isToolName(tool_name)) {
    throw errorOf("invalid_name", `${JSON.stringify(String(tool_name).slice(0, 80))} is not a legal tool name`);
  }
  if (isReservedToolName(tool_name)) throw errorOf("reserved_name", `the name ${tool_name} belongs to Tessera`);
  if (!isAfterExecution(after_execution)) {
    throw errorOf("invalid_after_execution", `after_execution of ${tool_name} must be suspend or terminate`);
  }
  parseTargetSubject(definition.target_subject);
  if (options.isStored !== true) checkParameters(definition.parameters, { pointer: "/parameters" });
  checkArgumentOptions(definition, options); // but for stored ones compiles the checks as well
}
