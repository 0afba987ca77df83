// Agents into a project, and turns for them.

export {
  deployProfiles,
  withdrawProfiles,
} from "./deploy-profiles.ts";
export { type AgentTurn, type AgentTurnRequest, enqueueAgentTurn } from "./enqueue-agent-turn.ts";
export { type InstanceReset, resetInstance } from "./reset-instance.ts";
