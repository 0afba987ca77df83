import { EventEmitter } from "node:events";
import { expect, test, vi } from "vitest";
import { printed } from "./printing-gate.ts";
import { processTerminal } from "./process-terminal.ts";

class FakeStream extends EventEmitter {
  readonly written: string[] = [];
  readonly isTTY = false;
  readonly columns = 80;
  write(chunk: string | Uint8Array): boolean {
    this.written.push(String(chunk));
    return true;
  }
}

function fakeProcess() {
  const signals = new EventEmitter();
  const stdout = new FakeStream();
  const stderr = new FakeStream();
  const seen = { exits: 0 };
  const host = {
    env: {},
    stdin: (async function* () {})(),
    stdout,
    stderr,
    on: (signal: string, heard: () => void) => signals.on(signal, heard),
    removeListener: (signal: string, heard: () => void) => signals.removeListener(signal, heard),
    exit: () => void seen.exits++,
  };
  return { terminal: processTerminal(host), stdout, stderr, signals, seen };
}

const gone = () => Object.assign(new Error("write EPIPE"), { code: "EPIPE" });

test("the first signal asks the command to stop, one that was passed on besides is the same, and a later one finds no listener", async () => {
  const { terminal, signals } = fakeProcess();
  const stopped = terminal.stopped();
  signals.emit("SIGTERM");
  await stopped;
  const listening = () => [signals.listenerCount("SIGINT"), signals.listenerCount("SIGTERM")];
  expect(listening()).toEqual([1, 1]); // of the terminal, and of npm: Ctrl-C came twice
  await vi.waitFor(() => expect(listening()).toEqual([0, 0]));
});

test("a reader that went away asks a command that can be stopped to stop, and never ends it in the middle of its drain", async () => {
  const { terminal, stdout, seen } = fakeProcess();
  const stopped = terminal.stopped();
  stdout.emit("error", gone());
  await stopped;
  terminal.out(printed("stopping\n"));
  stdout.emit("error", gone());
  expect({ exits: seen.exits, written: stdout.written }).toEqual({ exits: 0, written: [] });
});

test("a command that only answers ends with its reader", () => {
  const { stdout, seen } = fakeProcess();
  stdout.emit("error", gone());
  expect(seen.exits).toBe(1);
});

test("a log that has no reader any more, or whose disk is full, stops nothing", () => {
  const { terminal, stderr, signals, seen } = fakeProcess();
  void terminal.stopped();
  for (const error of [gone(), new Error("ENOSPC")]) stderr.emit("error", error);
  terminal.err(printed("on it goes\n"));
  expect({ exits: seen.exits, listening: signals.listenerCount("SIGTERM") }).toEqual({ exits: 0, listening: 1 });
});

test("an answer that cannot be written is an error", () => {
  const { stdout } = fakeProcess();
  expect(() => stdout.emit("error", new Error("ENOSPC"))).toThrow("ENOSPC");
});

test("what others print on stdout goes to stderr, so that stdout holds the command's own output and nothing else", () => {
  const { terminal, stdout, stderr } = fakeProcess();
  stdout.write("hello from a tool\n");
  terminal.out(printed("{}\n"));
  expect({ out: stdout.written, err: stderr.written }).toEqual({ out: ["{}\n"], err: ["hello from a tool\n"] });
});

test("what others print passes the gate, in whole characters: nothing but plain colours acts on the terminal", () => {
  const { stdout, stderr } = fakeProcess();
  stdout.write("\u001b[33m1\u001b[39m \u009b31mX\u202e\n");
  stderr.write("\u001b[2J\u001b[8mhidden\u001b[41m\n");
  const bytes = Buffer.from("ü\u009b");
  for (const byte of bytes) stdout.write(Buffer.of(byte));
  expect(stderr.written.join("")).toBe(
    "\u001b[33m1\u001b[39m \\u009b31mX\\u202e\n\\u001b[2J\\u001b[8mhidden\\u001b[41m\nü\\u009b",
  );
});
