// UI actions: a tool call that a person makes from a user interface. Asked for through this module; the worker that runs them
// (ui-worker.ts) is a part of the core, and loads the rest with the first action.

export { createUiActions, type UiActionRequest, type UiActions } from "./ui-request.ts";
