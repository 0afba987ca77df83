// logging: a line in the log where a turn, a step or a tool call begins and ends. It only observes: where it fails, what it
// wraps goes on.

import type { ExtensionApi } from "../api.ts";
import { choice, yesOrNo } from "./config.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;
type Level = (typeof LEVELS)[number];

interface LoggingConfig extends Readonly<Record<string, boolean | string>> {
  readonly level: Level;
  readonly includeToolArgs: boolean;
  readonly includeTurnMetadata: boolean;
}

export const logging = {
  name: "logging",
  onError: "skip" as const,
  fields: {
    level: choice<Level>("info", "debug", "warn", "error"),
    includeToolArgs: yesOrNo(false),
    includeTurnMetadata: yesOrNo(true),
  },
  register(api: ExtensionApi, config: LoggingConfig): void {
    const line = (level: Level, text: string, facts: object) => {
      if (LEVELS.indexOf(level) >= LEVELS.indexOf(config.level)) api.logger[level](text, facts);
    };
    /** Around one piece of work: `level` for what goes well. */
    async function told<T>(
      level: Level,
      what: string,
      facts: object,
      work: () => Promise<T>,
      end: (result: T) => object,
    ) {
      line(level, `${what} begins`, facts);
      try {
        const result = await work();
        line(level, `${what} ends`, { ...facts, ...end(result) });
        return result;
      } catch (error) {
        line("error", `${what} failed`, { ...facts, error: error instanceof Error ? error.message : String(error) });
        throw error;
      }
    }
    api.pipeline.register("turn", ({ turnId, traceId, inputEvent, isResumed, next }) => {
      const more = config.includeTurnMetadata ? { traceId, inputType: inputEvent.type, isResumed } : {};
      return told("info", "turn", { turnId, ...more }, next, ({ finishReason }) => ({ finishReason }));
    });
    api.pipeline.register("step", ({ turnId, stepIndex, toolCatalog, next }) => {
      const facts = { turnId, stepIndex, offered: toolCatalog.length };
      return told("info", "step", facts, next, ({ outcome, shouldContinue }) => ({ outcome, shouldContinue }));
    });
    api.pipeline.register("toolCall", ({ turnId, stepIndex, toolCallId, toolName, args, next }) => {
      const facts = { turnId, stepIndex, toolCallId, toolName, ...(config.includeToolArgs ? { args } : {}) };
      return told("debug", "tool call", facts, next, ({ status }) => ({ status }));
    });
  },
};
