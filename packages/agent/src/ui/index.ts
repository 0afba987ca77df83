// UI actions: a tool call that a person makes from a user interface.

export type { UiAck } from "./ui-action.ts";
export { UI_WORKER_TARGET } from "./ui-admission.ts";
export { createUiActions, type UiActionRequest, type UiActions } from "./ui-request.ts";
export { startUiWorker, type UiWorker } from "./ui-worker.ts";
export type { UiWorkerOptions } from "./ui-world.ts";
