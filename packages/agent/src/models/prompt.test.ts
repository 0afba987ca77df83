import type { ModelMessage } from "ai";
import { expect, it } from "vitest";
import { toPrompt } from "./prompt.ts";

const resultOf = (toolCallId: string, output: object) =>
  ({ type: "tool-result", toolCallId, toolName: "t", output }) as Extract<
    ModelMessage,
    { role: "tool" }
  >["content"][number];

it("puts the system text first and leaves out what is empty", () => {
  const messages: ModelMessage[] = [
    { role: "user", content: "" },
    {
      role: "user",
      content: [
        { type: "text", text: "" },
        { type: "text", text: "u" },
      ],
    },
    { role: "assistant", content: "" },
    { role: "system", content: "2 steps left" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "a" },
      ],
    },
  ];
  expect(toPrompt("s", messages)).toEqual([
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "text", text: "u" }] },
    { role: "system", content: "2 steps left" },
    {
      role: "assistant",
      content: [
        { type: "reasoning", text: "hm" },
        { type: "text", text: "a" },
      ],
    },
  ]);
  expect(toPrompt("", [{ role: "user", content: "u" }])).toHaveLength(1);
});

it("joins the results of a step into one message and changes no message it was given", () => {
  const outputs = [
    { type: "json", value: null },
    { type: "error-text", value: "no" },
    { type: "execution-denied", reason: "policy" },
    { type: "content", value: [{ type: "text", text: "x" }] },
  ];
  const messages = outputs.map(
    (output, index): ModelMessage => ({ role: "tool", content: [resultOf(`c${index}`, output)] }),
  );
  const before = structuredClone(messages);
  expect(toPrompt("", messages)).toEqual([
    { role: "tool", content: outputs.map((output, index) => resultOf(`c${index}`, output)) },
  ]);
  expect(messages).toEqual(before);
});

it.each<[string, ModelMessage]>([
  ["image", { role: "user", content: [{ type: "image", image: new URL("http://127.0.0.1/x.png") }] }],
  ["file", { role: "assistant", content: [{ type: "file", data: "aGk=", mediaType: "text/plain" }] }],
  [
    "file",
    {
      role: "tool",
      content: [resultOf("c", { type: "content", value: [{ type: "file", data: {}, mediaType: "a/b" }] })],
    },
  ],
])("refuses a part of type %s in place of dropping it or fetching it", (type, message) => {
  expect(() => toPrompt("", [message])).toThrow(`a message holds a part of type ${type}`);
});
