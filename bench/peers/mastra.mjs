// Mastra, not durable: an agent with a scripted model that calls one tool and then answers, in this process.

import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";
import { measurePeer } from "./peer-load.mjs";

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 };
const call = { type: "tool-call", toolCallId: "c1", toolName: "echo", input: '{"text":"hello world"}' };
const hasResult = ({ prompt }) => prompt.some(({ role }) => role === "tool");
const model = {
  specificationVersion: "v2",
  provider: "bench",
  modelId: "bench",
  supportedUrls: {},
  doGenerate: async (options) =>
    hasResult(options)
      ? { content: [{ type: "text", text: "done" }], finishReason: "stop", usage, warnings: [] }
      : { content: [call], finishReason: "tool-calls", usage, warnings: [] },
  doStream: async (options) => ({ stream: ReadableStream.from(hasResult(options) ? ANSWER : CALL) }),
};
const CALL = [{ type: "stream-start", warnings: [] }, call, { type: "finish", finishReason: "tool-calls", usage }];
const ANSWER = [
  { type: "stream-start", warnings: [] },
  { type: "text-start", id: "1" },
  { type: "text-delta", id: "1", delta: "done" },
  { type: "text-end", id: "1" },
  { type: "finish", finishReason: "stop", usage },
];
const echo = createTool({
  id: "echo",
  description: "echo",
  inputSchema: z.object({ text: z.string() }),
  execute: async (args) => args,
});
const agent = new Agent({ id: "bench", name: "bench", instructions: "Call echo.", model, tools: { echo } });

await measurePeer(async () => {
  const { text } = await agent.generate("hi");
  if (text !== "done") throw new Error(`it answered ${text}`);
});
process.exit(0);
