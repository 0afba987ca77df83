// Reads a stream of server-sent events from a socket, as a client does.

import type { Server } from "../src/index.ts";

interface ReadEvent {
  readonly id: string;
  readonly event: string;
  // biome-ignore lint/suspicious/noExplicitAny: read field by field by the test that expects it
  readonly data: any;
}

export interface EventReader {
  readonly status: number;
  readonly headers: Headers;
  readonly events: readonly ReadEvent[];
  readonly comments: readonly string[];
  /** All that came, for problems. */
  readonly text: () => string;
  /** Resolves when the server has ended the stream. */
  readonly ended: Promise<void>;
  close(): void;
}

export async function readEvents(
  server: Pick<Server, "url">,
  path: string,
  options: { readonly key: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<EventReader> {
  const gone = new AbortController();
  const response = await fetch(`${server.url}${path}`, {
    headers: { authorization: `Bearer ${options.key}`, ...options.headers },
    signal: gone.signal,
  });
  const events: ReadEvent[] = [];
  const comments: string[] = [];
  let text = "";
  let rest = "";

  function take(block: string): void {
    const fields: Record<string, string> = {};
    for (const line of block.split("\n")) {
      const colon = line.indexOf(":");
      if (colon === 0) comments.push(line.slice(1).trim());
      else fields[line.slice(0, colon)] = line.slice(colon + 1).trim();
    }
    const { id = "", event = "", data } = fields;
    if (data !== undefined) events.push({ id, event, data: JSON.parse(data) });
  }

  async function read(): Promise<void> {
    const decoder = new TextDecoder();
    for await (const bytes of response.body ?? []) {
      const piece = decoder.decode(bytes, { stream: true });
      text += piece;
      const blocks = (rest + piece).split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) take(block);
    }
  }

  return {
    status: response.status,
    headers: response.headers,
    events,
    comments,
    text: () => text,
    ended: read().catch(() => undefined),
    close: () => gone.abort(),
  };
}
