// LangGraph with its PostgreSQL checkpointer, durability "sync": a scripted model node, a tool node, the model again; one tool
// call per thread, in the caller's process.

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { END, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import pg from "pg";
import { z } from "zod";
import { needed, role } from "../programs/program.ts";
import { measureEmbeddedPeer } from "./peer-load.mjs";

const saver = new PostgresSaver(new pg.Pool({ connectionString: needed("postgres"), max: 20 }));
if (role === "main") await saver.setup();
const schema = z.object({ text: z.string() });
const echo = tool(async ({ text }) => text, { name: "echo", description: "echo", schema });

function think({ messages }) {
  const isFirst = messages.at(-1).getType() === "human";
  const tool_calls = [{ id: "c1", name: "echo", args: { text: "hello world" } }];
  return { messages: [isFirst ? new AIMessage({ content: "", tool_calls }) : new AIMessage("done")] };
}

const graph = new StateGraph(MessagesAnnotation)
  .addNode("model", think)
  .addNode("tools", new ToolNode([echo]))
  .addEdge(START, "model")
  .addConditionalEdges("model", ({ messages }) => (messages.at(-1).tool_calls?.length ? "tools" : END))
  .addEdge("tools", "model")
  .compile({ checkpointer: saver });

let threads = 0;
await measureEmbeddedPeer(async () => {
  threads += 1;
  const configurable = { thread_id: `${process.pid}-${threads}` };
  await graph.invoke({ messages: [new HumanMessage("hi")] }, { configurable, durability: "sync" });
});
if (role === "main") process.exit(0);
