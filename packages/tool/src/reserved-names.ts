// Names that belong to Tessera's own tools. A user's tool that carried one would be called in place of them.

/** Names that only Tessera's own tools have. */
export const RESERVED_TOOL_NAMES = [
  "delegate_async",
  "launch_principal",
  "ask_expert",
  "fork_join",
  "provision_agent",
  "submit_result",
] as const;

/** In any case of letters: to a model `Fork_Join` and `fork_join` are the same word. */
export function isReservedToolName(name: string): boolean {
  return (RESERVED_TOOL_NAMES as readonly string[]).includes(name.toLowerCase());
}
