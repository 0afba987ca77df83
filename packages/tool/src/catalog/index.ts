// @tessera/tool/catalog: what tools there are, what a step offers, and the gate that every argument passes.
//
//   A tool is registered    checkParameters, checkArgumentOptions; ToolRegistry does both
//   A step begins           registry.catalog(allow) → toModelTools()
//   The model has answered  planCalls → drafts for the kernel, refusals for the model
//   An executor has a call  completeArguments, with the values of its environment → the handler's input
//
// Nothing here runs a tool, reads the environment or opens a connection.

export { type ArgumentCheck, compileParameters } from "../arguments/argument-check.ts";
export { type CheckArgumentOptionsOptions, checkArgumentOptions } from "../arguments/argument-options.ts";
export { type CheckParametersOptions, checkParameters, copyParameters } from "../arguments/check-parameters.ts";
export { completeArguments, type GatedArguments, gateArguments, plainCopy } from "../arguments/gate-arguments.ts";
export { compilePattern, type Pattern } from "../arguments/pattern.ts";
export { checkEnvName, isEnvAllowed, isEnvName } from "../env-name.ts";
export { toCurrentDialect } from "../schema/dialect.ts";
export { type DeliverableSchema, deliverableSchema, type InferDeliverable } from "./deliverable-schema.ts";
export {
  checkInternalArguments,
  INTERNAL_TOOL_DEFINITIONS,
  internalSubject,
  isInternalTool,
} from "./internal-tools.ts";
export { type ModelTool, modelParameters, modelTool } from "./model-tool.ts";
export {
  type CallRequest,
  type PlanCallsOptions,
  type PlannedCall,
  type PlannedCallDraft,
  planCalls,
} from "./plan-calls.ts";
export { createProjectTools, type ProjectTools, type ToolReads } from "./project-tools.ts";
export { renderTemplates, TEMPLATE_VARIABLES, type TemplateVariable, type TemplateVars } from "./template.ts";
export { ToolCatalog, ToolRegistry } from "./tool-registry.ts";
