// Agents into a project, and turns for them.

export {
  type DeployedProfile,
  type Deployment,
  deployProfiles,
  type MovedInstance,
  withdrawProfiles,
} from "./deploy-profiles.ts";
export { type AgentTurn, type AgentTurnRequest, enqueueAgentTurn } from "./enqueue-agent-turn.ts";
export { type InstanceReset, resetInstance } from "./reset-instance.ts";
