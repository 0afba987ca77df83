// UI actions: a tool call that a person makes from a user interface.

export { createUiActions, type UiActionRequest, type UiActions } from "./ui-request.ts";
export { startUiWorker, type UiWorker, type UiWorkerOptions } from "./ui-worker.ts";
