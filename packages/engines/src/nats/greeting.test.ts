// Servers that greet, that do not, and that are no NATS: found out without leaving a socket open.

import { once } from "node:events";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { afterEach, expect, it } from "vitest";
import { Warnings } from "../delivery/warnings.ts";
import { Connection } from "./connection.ts";
import { greetingServers, hostOf } from "./greeting.ts";

const open: Server[] = [];
afterEach(() => {
  for (const server of open.splice(0)) server.close();
});

async function listen(onSocket: (socket: Socket) => void): Promise<string> {
  const server = createServer(onSocket).listen(0, "127.0.0.1");
  open.push(server);
  await once(server, "listening");
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const never = new AbortController().signal;

it("takes those that greet and passes over the others", async () => {
  const good = await listen((socket) => void socket.write('INFO {"version":"2.12.4"}\r\n'));
  const other = await listen((socket) => void socket.write("220 mail\r\n"));
  expect(await greetingServers([other, good, "nats://127.0.0.1:1"], 5_000, never)).toEqual([good]);
});

it.each([
  ["hangs up", (socket: Socket) => void socket.end(), 5_000, "hung up without a greeting"],
  ["speaks something else", (socket: Socket) => void socket.write("220 mail\r\n"), 5_000, "does not speak NATS"],
  ["says nothing", () => undefined, 50, "no server greeted within 0.05 s"],
])("says why there is none, of a server that %s", async (_, onSocket, limitMs, says) => {
  await expect(greetingServers([await listen(onSocket)], limitMs, never)).rejects.toThrow(says);
});

it("leaves no socket at a server that accepts and never greets, and closing does not wait for it", async () => {
  const closed: Promise<unknown>[] = [];
  let accepted: () => void = () => {};
  const first = new Promise<void>((resolve) => {
    accepted = resolve;
  });
  const silent = await listen((socket) => {
    socket.on("error", () => {}).resume();
    closed.push(once(socket, "close"));
    accepted();
  });
  const told: string[] = [];
  const connection = new Connection(
    { servers: [silent] },
    new Warnings((text) => void told.push(text)),
    async () => {},
  );
  const started = connection.start();
  await first;
  await connection.close();
  await started;
  await Promise.all(closed);
  expect(told).toEqual([]);
});

it("reports an unreachable broker with its address and without a secret, and that work goes on", async () => {
  const told: string[] = [];
  const options = { servers: ["nats://127.0.0.1:1"], user: "me", pass: "secret" };
  const connection = new Connection(options, new Warnings((text) => void told.push(text)), async () => {});
  await connection.start();
  await connection.close();
  expect(told).toEqual([
    expect.stringMatching(/^cannot reach NATS at 127\.0\.0\.1:1; running without it, slower \(.*ECONNREFUSED/),
  ]);
});

it("shows of a server no more than host and port", () => {
  expect(hostOf("nats://me:secret@h:4222")).toBe("h:4222");
  expect(hostOf("h:4222")).toBe("h:4222");
});
