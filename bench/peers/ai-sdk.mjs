// The AI SDK, not durable: generateText with a scripted model that calls one tool and then answers, in this process.

import { generateText, isStepCount, tool } from "ai";
import { MockLanguageModelV4 } from "ai/test";
import { z } from "zod";
import { measurePeer } from "./peer-load.mjs";

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
  totalTokens: 2,
};
const callsTool = {
  content: [{ type: "tool-call", toolCallId: "c1", toolName: "echo", input: '{"text":"hello world"}' }],
  finishReason: { unified: "tool-calls", raw: "tool-calls" },
  usage,
  warnings: [],
};
const answers = {
  content: [{ type: "text", text: "done" }],
  finishReason: { unified: "stop", raw: "stop" },
  usage,
  warnings: [],
};
const tools = {
  echo: tool({ description: "echo", inputSchema: z.object({ text: z.string() }), execute: async (args) => args }),
};

await measurePeer(async () => {
  const doGenerate = async ({ prompt }) => (prompt.some(({ role }) => role === "tool") ? answers : callsTool);
  const model = new MockLanguageModelV4({ doGenerate });
  const { text, steps } = await generateText({ model, prompt: "hi", tools, stopWhen: isStepCount(3) });
  if (text !== "done" || steps.length !== 2) throw new Error(`it answered ${text} in ${steps.length} steps`);
});
process.exit(0);
