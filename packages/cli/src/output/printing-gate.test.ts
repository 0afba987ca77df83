import { expect, it } from "vitest";
import { testTerminal } from "../../test/test-terminal.ts";
import { labelled, type ProcessTerminal, printed, sentence, type Text } from "./printing-gate.ts";

const EVIL = "\u009b31mX\u007f\u202e\u001b[2J\u200b";
const SHOWN = "\\u009b31mX\\u007f\\u202e\\u001b[2J\\u200b";

function terminal(given: Partial<ProcessTerminal> = {}) {
  const { printed: seen, terminal: gate } = testTerminal({
    isWatched: true,
    isOutWatched: true,
    columns: () => 80,
    ...given,
  });
  return { seen, gate };
}

it.each<[string, Text, string]>([
  ["a text", `${EVIL}\n`, `${SHOWN}\n`],
  ["a line", [sentence("it said ", EVIL)], `it said ${SHOWN}\n`],
  ["what is to be pasted", [labelled("what to do", "Run ", { whole: EVIL })], `  what to do  Run ${SHOWN}\n`],
  ["a cell of a table, and its header", [{ rows: [{ [EVIL]: EVIL }] }], `${SHOWN}\n${SHOWN}\n`],
  ["what is painted", [{ text: EVIL, colour: "red" }], `\u001b[31m${SHOWN}\u001b[0m`],
])("nothing in %s of others acts on a terminal, nor in a pipe", (_, text, shown) => {
  const { seen, gate } = terminal();
  gate.out(text);
  gate.err(text);
  expect(seen).toEqual({ out: shown, err: shown });
  const piped = terminal({ isWatched: false, isOutWatched: false });
  piped.gate.out(text);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: none may be left
  expect(piped.seen.out).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e\u200b]/);
});

it("JSON stays JSON and means the same", () => {
  const { seen, gate } = terminal();
  gate.out(`${JSON.stringify({ text: EVIL, [EVIL]: 1 })}\n`);
  expect(JSON.parse(seen.out)).toEqual({ text: EVIL, [EVIL]: 1 });
  expect(seen.out).toContain(SHOWN.slice(0, 6));
});

it("stderr holds no password and no key", () => {
  const { seen, gate } = terminal();
  gate.err([sentence("cannot reach postgres://me:secret@h/d with tsk_k1.abc")]);
  expect(seen.err).toBe("cannot reach postgres://me:***@h/d with tsk_***\n");
});

it.each([
  ["a pipe", { isOutWatched: false }],
  ["NO_COLOR", { env: { NO_COLOR: "1" } }],
  ["a dumb terminal", { env: { TERM: "dumb" } }],
])("%s gets no colours", (_, given) => {
  const { seen, gate } = terminal(given);
  gate.out([{ text: "ok", colour: "green" }]);
  expect(seen.out).toBe("ok");
});

const LONG = "the store is held by a running process that does not answer, and has not done so for a while";
const COMMAND = "tessera turns show turn_01a1efeef3d97501b59251535286ada2 --data /a/long/path/to/the/store";

it("breaks lines between words, below their label; what is to be pasted stays whole, and so does what a pipe gets", () => {
  const text = [sentence(`tessera: ${LONG}`), labelled("what to do", "Look at it: ", { whole: COMMAND })];
  expect(`\n${printed(text, { isColoured: false, columns: 60 })}`).toBe(`
tessera: the store is held by a running process that does
  not answer, and has not done so for a while
  what to do  Look at it:
              ${COMMAND}
`);
  expect(printed(text)).toBe(`tessera: ${LONG}\n  what to do  Look at it: ${COMMAND}\n`);
});

it("keeps a command between backticks together, and line breaks where they were", () => {
  const text = [sentence("Stop it, or run `tessera migrate --data ./store` again.\nThen repeat what was asked for.")];
  expect(printed(text, { isColoured: false, columns: 40 })).toBe(
    "Stop it, or run\n  `tessera migrate --data ./store`\n  again.\nThen repeat what was asked for.\n",
  );
});

it("takes lines away where it is asked to, and only there", () => {
  expect(printed([{ clearAbove: 2 }, "x\n"])).toBe("\u001b[1A\u001b[2K\u001b[1A\u001b[2Kx\n");
});
