import { describe, expect, it } from "vitest";
import { answeredCalls, statusSaid } from "../../test/transcript-rules.ts";
import { NOTE_MARK, type TranscriptCard } from "./card-message.ts";
import { createTranscript, projectTranscript } from "./transcript.ts";

let made = 0;
function card(type: string, content: object, rest: Partial<TranscriptCard> = {}): TranscriptCard {
  const metadata = { agent_turn_id: "turn_1", ...rest.metadata };
  return {
    card_id: `card_${++made}`,
    type,
    content: content as never,
    tool_calls: null,
    tool_call_id: null,
    ...rest,
    metadata,
  };
}
const instruction = (text: string) => card("task.instruction", { text }, { metadata: { role: "user" } });
const thought = (text: string, calls: string[] = [], turn = "turn_1") =>
  card(
    "agent.thought",
    { text },
    { tool_calls: calls.map((id) => ({ id, name: "echo__run" })), metadata: { agent_turn_id: turn } },
  );
const call = (id: string, args: object = { n: id }) =>
  card(
    "tool.call",
    { tool_name: "echo__run", arguments: args, status: "called", target_subject: "s" },
    { tool_call_id: id },
  );
const result = (id: string, value: unknown = id) =>
  card(
    "tool.result",
    { status: "success", after_execution: "suspend", result: { value }, error: null },
    { tool_call_id: id },
  );
const deliverable = (content: object, turn = "turn_1") =>
  card("task.deliverable", content, { metadata: { agent_turn_id: turn } });
const project = (current: TranscriptCard[], context = [instruction("go")], earlier: TranscriptCard[] = []) =>
  projectTranscript({ earlier: earlier.length === 0 ? [] : [{ context: [], output: earlier }], context, current });
const user = (content: string) => ({ role: "user", content });
const said = (text: string) => ({ role: "assistant", content: [{ type: "text", text }] });

describe("the order of a transcript", () => {
  it("is what each turn was asked and what it said, the newest last", () => {
    const turn = (n: number) => ({
      context: [instruction(`question ${n}`)],
      output: [thought(`answer ${n}`, [], `turn_${n}`), deliverable({ text: `answer ${n}` }, `turn_${n}`)],
    });
    const messages = projectTranscript({
      earlier: [turn(1), turn(2)],
      context: [instruction("question 3")],
      current: [],
    });
    expect(messages).toEqual([
      user("question 1"),
      said("answer 1"),
      user("question 2"),
      said("answer 2"),
      user("question 3"),
    ]);
  });

  it("counts a card that two turns share once, where it stands first", () => {
    const shared = instruction("for both");
    const earlier = [{ context: [shared], output: [thought("one", [], "turn_0")] }];
    expect(projectTranscript({ earlier, context: [shared, instruction("more")], current: [] })).toEqual([
      user("for both"),
      said("one"),
      user("more"),
    ]);
  });

  it("names each message by its card", () => {
    const [asked, step, note] = [instruction("go"), thought("", ["a"]), card("sys.judge_feedback", { text: "slow" })];
    const transcript = createTranscript({
      earlier: [],
      context: [asked],
      current: [step, call("a"), result("a"), note],
    });
    expect(transcript.identified().map(({ id }) => id)).toEqual([
      asked.card_id,
      step.card_id,
      `${step.card_id}:results`,
      note.card_id,
    ]);
    expect(transcript.identified().map(({ message }) => message)).toEqual(transcript.messages());
  });

  it("says that an earlier turn begins in the middle", () => {
    const earlier = [{ context: [instruction("go")], output: [thought("late", [], "turn_0")], isCut: true }];
    expect(projectTranscript({ earlier, context: [], current: [] }).slice(0, 2)).toEqual([
      user("go"),
      user(`${NOTE_MARK} Earlier steps of this turn are left out.`),
    ]);
  });

  it("is earlier output, context, this turn's output where earlier requests hold nothing to show", () => {
    const earlier = [thought("first answer", [], "turn_0"), deliverable({ text: "first answer" }, "turn_0")];
    const messages = project([thought("second answer")], [instruction("again")], earlier);
    expect(messages.slice(1)).toEqual([said("first answer"), user("again"), said("second answer")]);
    expect(messages[0]).toEqual({ role: "user", content: expect.stringContaining(NOTE_MARK) });
  });

  it("shows a card that several boxes hold once, where the output has it", () => {
    const old = [thought("", ["a"], "turn_0"), call("a"), result("a")];
    const messages = project([], [...old, instruction("go"), instruction("go")], old);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user", "user"]);
  });

  it("reads a context box that is the output box itself as output", () => {
    const current = [thought("", ["a"]), call("a"), result("a")];
    expect(project(current, [...current, instruction("go")])).toEqual(project(current));
  });

  it("keeps users' messages apart", () => {
    expect(project([], [instruction("one"), instruction("two")])).toEqual([user("one"), user("two")]);
  });

  it("puts a note between answers of different turns, whose requests are not there", () => {
    const earlier = [deliverable({ text: "one" }, "turn_0"), thought("", ["b"], "turn_1"), call("b"), result("b")];
    expect(project([], [], earlier).map(({ role }) => role)).toEqual([
      "user",
      "assistant",
      "user",
      "assistant",
      "tool",
    ]);
  });
});

describe("a step", () => {
  it("is an assistant message with its text and calls, and a tool message with their results in call order", () => {
    const step = [
      thought("Let me look.", ["a", "b"]),
      call("a"),
      call("b", { _raw: "{not json" }),
      result("b"),
      result("a"),
    ];
    expect(project(step)).toEqual([
      user("go"),
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool-call", toolCallId: "a", toolName: "echo__run", input: { n: "a" } },
          { type: "tool-call", toolCallId: "b", toolName: "echo__run", input: { _raw: "{not json" } },
        ],
      },
      {
        role: "tool",
        content: ["a", "b"].map((id) => ({
          type: "tool-result",
          toolCallId: id,
          toolName: "echo__run",
          output: { type: "json", value: { value: id } },
        })),
      },
    ]);
  });

  it("without text has no text part, and a thought with nothing in it is no message", () => {
    expect(project([thought("  \n", ["a"]), call("a"), result("a")])[1]).toMatchObject({
      content: [{ type: "tool-call" }],
    });
    expect(project([thought(" ")])).toEqual([user("go")]);
  });

  it.each([
    ["waits, in this turn", "current", "waiting"],
    ["was handed over open, in the context", "context", "waiting"],
    ["was left open, in an earlier turn", "earlier", "canceled"],
  ] as const)("answers a call that %s", (_, part, status) => {
    const open = [thought("", ["a"]), call("a")];
    const cards = { earlier: [], context: [instruction("go")], current: [] };
    const given = part === "earlier" ? { earlier: [{ context: [], output: open }] } : { [part]: open };
    const [answered] = answeredCalls(projectTranscript({ ...cards, ...given }));
    expect(answered && statusSaid(answered.output)).toBe(status);
  });

  it("stands together although another card was written before its results", () => {
    const note = card("sys.judge_feedback", { text: "slow" });
    const messages = project([thought("", ["a"]), call("a"), note, result("a")]);
    expect(messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(answeredCalls(messages)[0]?.output).toEqual({ type: "json", value: { value: "a" } });
  });

  it("takes the first of two results, and no call twice", () => {
    const transcript = createTranscript({
      earlier: [],
      context: [instruction("go")],
      current: [thought("x", ["a", "a"]), call("a"), result("a", 1), result("a", 2), thought("x", ["a"]), call("a")],
    });
    expect(answeredCalls(transcript.messages()).map(({ output }) => output)).toEqual([
      { type: "json", value: { value: 1 } },
    ]);
    expect(transcript.messages()).toHaveLength(3);
    expect(transcript.leftOut()).toEqual({ results: 0, calls: 0, repeats: 4 });
  });

  it("leaves out and counts what has no place", () => {
    const transcript = createTranscript({
      earlier: [],
      context: [instruction("go"), call("x"), result("y"), result("z")],
      current: [],
    });
    expect(transcript.messages()).toEqual([user("go")]);
    expect(transcript.leftOut()).toEqual({ results: 2, calls: 1, repeats: 0 });
  });

  it("is whole also when its cards come before the thought", () => {
    const cards = [result("a"), call("a"), thought("", ["a"])];
    expect(project(cards)).toEqual(project([...cards].reverse()));
  });

  it("whose call card is missing keeps the call and its result", () => {
    expect(answeredCalls(project([thought("", ["a"]), result("a")]))).toMatchObject([{ id: "a", input: {} }]);
  });
});

describe("other cards", () => {
  it("of the system are marked notes by the user's role", () => {
    const notes = [
      card("sys.must_end_with_required", { text: "End with report." }),
      card("sys.judge_feedback", { text: "Too long." }),
      card("agent.error", { data: { error: { code: "model_failed", message: "no answer" }, status: "failed" } }),
      card("agent.error", { data: { error: "boom" } }),
    ];
    expect(project(notes).slice(1)).toEqual([
      user("[system note] End with report."),
      user("[system note] Too long."),
      user("[system note] An error ended a turn (failed): no answer"),
      user("[system note] An error ended a turn: boom"),
    ]);
  });

  it("that answer a request which was not waited for are the user's, and say whose they are", () => {
    const answer = (data: object) =>
      card("agent.answer", { data }, { metadata: { role: "user", agent_name: "helper" } });
    const error = { code: "model_failed", message: "no answer" };
    expect(
      project([
        answer({ status: "success", text: "42" }),
        answer({ status: "success", data: { fields: [] } }),
        answer({ status: "failed", error }),
      ]).slice(1),
    ).toEqual([
      user("[answer of helper] 42"),
      user('[answer of helper] {"fields":[]}'),
      user("[answer of helper] It ended failed: no answer"),
    ]);
  });

  it("that the system prompt speaks for are no messages", () => {
    const silent = ["sys.profile", "sys.tools", "meta.parent_pointer"].map((type) => card(type, { data: {} }));
    const fields = card("task.result_fields", { fields: [] }, { metadata: { role: "user" } });
    expect(project([card("sys.rendered_prompt", { text: "p" })], [...silent, fields])).toEqual([]);
  });

  it("of an unknown type count as the user's only where they say so", () => {
    expect(
      project([], [card("x.y", { text: "hi" }, { metadata: { role: "user" } }), card("x.z", { text: "no" })]),
    ).toEqual([user("hi")]);
  });
});

describe("a deliverable", () => {
  it("of an earlier turn is what the assistant said, JSON as text", () => {
    const data = { fields: [{ name: "summary", value: 1 }] };
    expect(project([], [instruction("go")], [deliverable({ data })]).slice(1)).toEqual([
      said(JSON.stringify(data)),
      user("go"),
    ]);
  });

  it("is not repeated after the thought that said it, unless another turn did", () => {
    expect(project([], [], [thought("done"), deliverable({ text: "done " })])).toHaveLength(2);
    expect(project([], [], [thought("done", [], "turn_0"), deliverable({ text: "done" })])).toHaveLength(4);
  });

  it("that the kernel wrote is a note, not the model's words", () => {
    const data = {
      kind: "fallback_deliverable",
      status: "partial",
      message: "stop",
      diagnostics: { terminal_status: "canceled" },
    };
    expect(project([], [], [deliverable({ data })])).toEqual([
      user("[system note] A turn ended canceled without a result of its own: stop"),
    ]);
  });

  it("in this turn's output is another turn's, and not shown", () => {
    expect(project([deliverable({ text: "x" }, "turn_9")])).toEqual([user("go")]);
  });
});

describe("a transcript that grows", () => {
  it("hands out snapshots that later cards do not change", () => {
    const transcript = createTranscript({
      earlier: [],
      context: [instruction("go")],
      current: [thought("", ["a"]), call("a")],
    });
    const before = transcript.messages();
    const copy = structuredClone(before);
    transcript.append([result("a"), thought("done")]);
    expect(before).toEqual(copy);
    expect(transcript.messages()).toHaveLength(4);
  });

  it("does not make messages again that are finished", () => {
    const transcript = createTranscript({
      earlier: [],
      context: [instruction("go")],
      current: [thought("", ["a"]), call("a"), result("a")],
    });
    const before = transcript.messages();
    transcript.append([thought("", ["b"]), call("b"), result("b")]);
    for (const [n, message] of before.entries()) expect(transcript.messages()[n]).toBe(message);
  });
});
