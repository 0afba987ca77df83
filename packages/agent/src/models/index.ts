// Models: what answers a transcript. `createModels` is the ModelPort of a process; `readScriptedRules` lets the reader of
// a bundle report mistakes in a scripted model with their place.

export {
  type CreateModelsOptions,
  createModels,
  MODEL_LIMITS,
  type ModelLimits,
  SCRIPTED_PROVIDER,
} from "./create-models.ts";
export { readScriptedRules, type ScriptedReply, type ScriptedRule, type ScriptedWhen } from "./scripted-rules.ts";
