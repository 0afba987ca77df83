// The transcript: cards in, what the model is sent out.
//
//   createTranscript     once per turn; append as the turn goes on
//   projectTranscript    the same at once
//   renderSystemPrompt   what stands before it
//   offeredForBudget     which tools go with it
//   windowOf             which earlier turns are part of it

export { NOTE_MARK, noteMessage, type TranscriptCard } from "./card-message.ts";
export {
  MESSAGE_EVENT,
  MESSAGE_ROLES,
  type StoredEvent,
  shownMessage,
  storedEvent,
  type WrittenMessage,
} from "./message-event.ts";
export { isWithheld, resultOutput } from "./result-output.ts";
export { budgetWarning, offeredForBudget } from "./step-budget.ts";
export { deliverableSchema, type PromptFacts, renderSystemPrompt, requiredFields } from "./system-prompt.ts";
export {
  createTranscript,
  type EarlierTurn,
  type IdentifiedMessage,
  type LeftOut,
  projectTranscript,
  type Transcript,
  type TranscriptCards,
} from "./transcript.ts";
export { charactersOf, type SizedTurn, trimTurn, windowOf } from "./window.ts";
