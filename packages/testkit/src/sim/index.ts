// Deterministic simulation: virtual time, one event at a time, and ports that fail as the seed says.

export { EventLog } from "./event-log.ts";
export { FAULT_KINDS, type FaultKind, FaultPlan } from "./fault-plan.ts";
export { SimRandom } from "./random.ts";
export { SimScheduler } from "./scheduler.ts";
export { SimBroker } from "./sim-bus.ts";
export { type SimWorld, simDatabase } from "./sim-database.ts";
export { SimProcess } from "./sim-process.ts";
