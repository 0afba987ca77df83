// The transcript: cards in, what the model is sent out.
//
//   createTranscript     once per turn; append as the turn goes on
//   projectTranscript    the same at once
//   renderSystemPrompt   what stands before it
//   offeredForBudget     which tools go with it
//   windowOf             which earlier turns are part of it

export type { TranscriptCard } from "./card-message.ts";
export {
  MESSAGE_EVENT,
  MESSAGE_ROLES,
  type StoredEvent,
  shownMessage,
  storedEvent,
  type WrittenMessage,
} from "./message-event.ts";
export { isWithheld } from "./result-output.ts";
export { offeredForBudget } from "./step-budget.ts";
export { deliverableSchema, renderSystemPrompt, requiredFields } from "./system-prompt.ts";
export {
  createTranscript,
  type EarlierTurn,
  type IdentifiedMessage,
  projectTranscript,
  type Transcript,
  type TranscriptCards,
} from "./transcript.ts";
export { charactersOf, type SizedTurn, windowOf } from "./window.ts";
