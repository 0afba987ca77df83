// The extensions that come with the product (docs/protocol/tool-api.md#extensions), referenced like the built-in tools:
// `{kind: Extension, name: message-window, package: "@tessera/base"}`.

import { type BuiltinExtension, builtinOf } from "./builtin-extension.ts";
import { contextMessage } from "./context-message.ts";
import { interAgentResponseFormat } from "./inter-agent-response-format.ts";
import { logging } from "./logging.ts";
import { messageCompaction } from "./message-compaction.ts";
import { messageWindow } from "./message-window.ts";
import { requiredToolsGuard } from "./required-tools-guard.ts";
import { toolSearch } from "./tool-search.ts";

export type { BuiltinExtension } from "./builtin-extension.ts";

export const BUILTIN_EXTENSIONS: readonly BuiltinExtension[] = [
  builtinOf(contextMessage),
  builtinOf(interAgentResponseFormat),
  builtinOf(logging),
  builtinOf(messageCompaction),
  builtinOf(messageWindow),
  builtinOf(requiredToolsGuard),
  builtinOf(toolSearch),
];

export function builtinExtension(name: string): BuiltinExtension | undefined {
  return BUILTIN_EXTENSIONS.find((each) => each.name === name);
}
