import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import { waitFor } from "./wait-for.ts";

let echo: Server;
let proxy: TcpProxy;
const clients: Client[] = [];

beforeEach(async () => {
  echo = createServer((socket) => {
    socket.on("error", () => {});
    socket.pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(echo, "listening");
  proxy = await startTcpProxy({ port: (echo.address() as AddressInfo).port });
});
afterEach(async () => {
  for (const { socket } of clients.splice(0)) socket.destroy();
  await proxy.close();
  echo.close();
});

class Client {
  readonly socket: Socket = connect(proxy.port, proxy.host);
  received = "";
  ended: string | null = null;
  constructor() {
    clients.push(this);
    this.socket.on("data", (chunk) => {
      this.received += chunk.toString();
    });
    this.socket.on("error", (error: NodeJS.ErrnoException) => {
      this.ended = error.code ?? "error";
    });
    this.socket.on("close", () => {
      this.ended ??= "closed";
    });
  }
  async expectEcho(text: string): Promise<void> {
    const before = this.received;
    this.socket.write(text);
    await waitFor(() => this.received === before + text, { what: `an echo of ${text}` });
  }
}

test("bytes pass in both directions and are counted", async () => {
  await new Client().expectEcho("hello");
  expect(proxy.counters).toMatchObject({ accepted: 1, bytesToServer: 5, bytesToClient: 5, cut: 0 });
});

test("a cut resets the client and is counted; a new connection works", async () => {
  const client = new Client();
  await client.expectEcho("a");
  proxy.cut();
  await waitFor(() => client.ended, { what: "the reset" });
  expect(client.ended).toBe("ECONNRESET");
  expect(proxy.counters.cut).toBe(1);
  await new Client().expectEcho("b");
});

test("a cut after some bytes delivers these and no more", async () => {
  const client = new Client();
  await client.expectEcho("a");
  proxy.set({ kind: "cut-after", bytes: 4, direction: "to-server" });
  client.socket.write("0123456789");
  await waitFor(() => client.ended, { what: "the cut" });
  expect(proxy.counters).toMatchObject({ cut: 1, bytesToServer: 5 });
});

test("a black hole in one direction swallows the answers while the connection stays up", async () => {
  const client = new Client();
  await client.expectEcho("a");
  proxy.set({ kind: "black-hole", direction: "to-client" });
  client.socket.write("lost");
  await waitFor(() => proxy.counters.bytesSwallowed === 4, { what: "the answer to be swallowed" });
  expect(client.ended).toBeNull();
  proxy.set({ kind: "pass" });
  await client.expectEcho("b");
  expect(client.received).toBe("ab");
});

test("a stranded connection hears nothing any more, not even its end, while new ones pass", async () => {
  const stranded = new Client();
  await stranded.expectEcho("a");
  proxy.strand();
  stranded.socket.write("lost");
  await waitFor(() => proxy.counters.bytesSwallowed === 4, { what: "the words to be swallowed" });
  expect(proxy.counters.stranded).toBe(1);
  await new Client().expectEcho("b");
  expect(stranded).toMatchObject({ received: "a", ended: null });
  expect(proxy).toMatchObject({ open: 2, live: 1 });
  proxy.cut();
  expect(proxy.counters).toMatchObject({ stranded: 1, cut: 1 });
});

test("refused connections are reset, open ones go on", async () => {
  const open = new Client();
  await open.expectEcho("a");
  proxy.set({ kind: "refuse" });
  const refused = new Client();
  await waitFor(() => refused.ended, { what: "the refusal" });
  expect(proxy.counters.refused).toBe(1);
  await open.expectEcho("b");
});

test("delay and drip slow down without loss or disorder", async () => {
  const client = new Client();
  await client.expectEcho("a");
  proxy.set({ kind: "delay", ms: 30 });
  const started = performance.now();
  await client.expectEcho("delayed");
  expect(performance.now() - started).toBeGreaterThanOrEqual(55);
  proxy.set({ kind: "drip", intervalMs: 1 });
  await client.expectEcho("drop by drop");
});
