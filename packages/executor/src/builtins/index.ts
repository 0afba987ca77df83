// The built-in tools (`@tessera/base`, also called `@goondan/base`): bash, file-system, http-fetch, json-query, text-transform,
// agents and wait.
//
//   I1. They run inline: none of them runs code of a model in this process. What bash runs is a process of its own.
//   I2. Where a tool takes its timeout as an argument, the definition's `timeoutMs` lies above the largest one: the tool
//       ends by itself and answers, and the call's limit is only there for a tool that does not.

import type { Clock } from "@tessera/kernel/ports";
import type { RegisteredTool } from "@tessera/tool";
import { agentsTools } from "./agents.ts";
import { type BashOptions, bashTools } from "./bash.ts";
import { fileSystemTools } from "./file-system.ts";
import { type HttpFetchOptions, httpFetchTools } from "./http-fetch.ts";
import { jsonQueryTools } from "./json-query.ts";
import { textTransformTools } from "./text-transform.ts";
import { waitTools } from "./wait.ts";

export { probeShell, type ShellOptions } from "../shell/probe.ts";

export interface BuiltinOptions {
  readonly clock: Clock;
  readonly shell?: BashOptions | undefined;
  readonly http?: HttpFetchOptions;
}

export function builtinTools(options: BuiltinOptions): RegisteredTool[] {
  return [
    ...bashTools(options.shell ?? {}, options.clock),
    ...fileSystemTools,
    ...httpFetchTools(options.http ?? {}, options.clock),
    ...jsonQueryTools,
    ...textTransformTools,
    ...agentsTools,
    ...waitTools(options.clock),
  ];
}
