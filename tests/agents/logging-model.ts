// A model that keeps what it was sent: a server on loopback that speaks chat completions, for processes that a test kills.
//
//   M1. What an agent says follows from its last message: the same request has the same answer, whichever agent sends it.
//   M2. An answer may be held back in its middle until the test lets it go, so that the process that waits for it can be killed.

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { waitFor } from "@tessera/testkit";

interface SentMessage {
  readonly role: string;
  readonly content: string;
}

export interface LoggingModel extends AsyncDisposable {
  /** For the `endpoint` of a Model. */
  readonly endpoint: string;
  /** What was sent for agents with this system prompt, when they were asked this, in order of arrival. */
  sent(system: string, asked: string): readonly (readonly SentMessage[])[];
  /** Resolves when so many such requests have come. */
  came(system: string, asked: string, times: number): Promise<void>;
  /** M2. Null: none is held back any more. */
  hold(request: { readonly system: string; readonly asked: string } | null): void;
}

/**
 * An agent with this prompt asks `helper`, in its instance `ann`, what it was asked, with a tool that requests. It does not wait
 * where it was asked so (`LATER`), and asks nothing about an answer that comes then.
 */
export const ASKS_HELPER = "You let your helper answer.";
export const LATER = "No hurry: ";
/** An agent with this prompt makes the call that it is asked for, `name {arguments}`, and repeats the result. */
export const MAKES_CALLS = "You make the call that you are asked for.";
/** How a conversation shows the answer of an agent that was not waited for. */
export const ANSWER = "[answer of ";
const CAME_MS = 60_000;

export async function startLoggingModel(): Promise<LoggingModel> {
  const requests: (readonly SentMessage[])[] = [];
  const waiting = new Set<() => void>();
  let held: { readonly system: string; readonly asked: string } | null = null;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(request);
    const messages = messagesIn(body);
    const offered = (body.tools ?? []).map((tool) => tool.function.name);
    requests.push(messages);
    const n = requests.length;
    const isHeld = messages[0]?.content === held?.system && lastAsked(messages) === held?.asked;
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const [place, event] of [...replyTo(messages, offered, n), "[DONE]"].entries()) {
      if (isHeld && place === 1) await new Promise<void>((resolve) => waiting.add(resolve)); // M2
      response.write(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`);
    }
    response.end();
  }

  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sent: LoggingModel["sent"] = (system, asked) =>
    requests.filter((messages) => messages[0]?.content === system && lastAsked(messages) === asked);
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    sent,
    came: (system, asked, times) =>
      waitFor(() => sent(system, asked).length >= times, {
        what: `request ${times} for ${JSON.stringify(asked)}; there were ${JSON.stringify(requests)}`,
        timeoutMs: CAME_MS,
      }).then(() => undefined),
    hold(request) {
      held = request;
      for (const resume of waiting) resume();
      waiting.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Body {
  readonly messages: readonly Record<string, unknown>[];
  readonly tools?: readonly { readonly function: { readonly name: string } }[];
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  return JSON.parse(Buffer.concat(parts).toString("utf8"));
}

function messagesIn({ messages }: Body): SentMessage[] {
  return messages.map(({ role, content, tool_calls }) => ({
    role: String(role),
    content: typeof content === "string" && content !== "" ? content : JSON.stringify(tool_calls ?? content),
  }));
}

function lastAsked(messages: readonly SentMessage[]): string | undefined {
  return messages.findLast(({ role }) => role === "user")?.content;
}

/** M1 */
function replyTo(messages: readonly SentMessage[], offered: readonly string[], n: number): object[] {
  const last = messages.at(-1);
  const delta = (content: object, finish_reason: string | null = null) => ({
    id: `r${n}`,
    choices: [{ index: 0, delta: content, finish_reason }],
  });
  const calls = (name: string, args: string) => {
    const call = { index: 0, id: `call_${n}`, type: "function", function: { name, arguments: args } };
    return [delta({ role: "assistant", tool_calls: [call] }), delta({}, "tool_calls")];
  };
  if (messages[0]?.content === ASKS_HELPER && last?.role === "user" && !last.content.startsWith(ANSWER)) {
    const isAsync = last.content.startsWith(LATER);
    const asks = JSON.stringify({ target: "helper", instanceKey: "ann", input: last.content, async: isAsync });
    return calls(offered.find((name) => /request/.test(name)) ?? "", asks);
  }
  if (messages[0]?.content === MAKES_CALLS) {
    const [name = "", args = ""] = last?.content.split(/ (.*)/s) ?? [];
    return last?.role === "user"
      ? calls(name, args)
      : [delta({ role: "assistant", content: last?.content }), delta({}, "stop")];
  }
  const said = last?.role === "tool" ? "My helper answered." : `I heard ${JSON.stringify(last?.content)}.`;
  const [first, ...rest] = said.split(" ");
  const words = [`${first} `, rest.join(" ")];
  return [...words.map((content) => delta({ role: "assistant", content })), delta({}, "stop")];
}
