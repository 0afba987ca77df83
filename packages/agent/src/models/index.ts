// Models: whoever answers a transcript. `createModels` is the ModelPort of a process; `readScriptedRules` lets the reader of
// a bundle report mistakes in a scripted model with their place.

export { createModels } from "./create-models.ts";
