// Adapters behind the ports of the kernel, one folder each. Only the composition root chooses between them; import one
// by its own path (`@tessera/engines/nats`), so that a process loads no driver it does not use.

export { type MemoryBusOptions, openMemoryBus } from "./memory-bus/index.ts";
