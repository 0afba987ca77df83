// The low-level tool API, under the names that CommonGround published; people import it as @tessera/tessera/wire. For handlers that
// already speak UTP; a new tool is easier to write with `@tessera/tool`.
//
//   message in     parseSubject, buildNatsIngressContext
//   card access    CardBox (getCards claims, saveCard saves a result)
//   result         ToolResultContext.fromCmdData, ToolResultBuilder
//   report         publishToolResultReport
//   listening      subscribeToolCommands

export type { Delivery, Ids } from "@tessera/kernel";
export {
  buildErrorResultFromException,
  buildNatsIngressContext,
  CGContext,
  parseSubject,
  TesseraError,
} from "@tessera/protocol";
export { CardBox, type CardBoxOptions, type ToolCallCard } from "./card-box.ts";
export { publishToolResultReport, type ReportOptions } from "./report.ts";
export { ToolResultBuilder, type ToolResultCard, ToolResultContext } from "./result-builder.ts";
export { subscribeToolCommands, type ToolCommandsOptions } from "./subscribe.ts";
