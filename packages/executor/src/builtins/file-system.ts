// file-system: read, write, list and mkdir inside the workdir. workdir-path.ts keeps them there.
//
//   F1. Sizes are bytes. Text is UTF-8; other bytes are shown as U+FFFD (readable-text.ts).
//   F2. `write` is declared `once`. Writing the same content twice is harmless, appending it twice is not, and a definition
//       has one effect for both; a run that was cut off may also have left half a file, which an operator should look at.
//   F3. `mkdir` answers for a directory that is there as for one it made, so that a repeat cannot fail. Without `recursive` a
//       directory that is there is an error, as it is for Goondan's `mkdir`, except for a later attempt of the same call: the
//       one before may have made it.
//   F4. What is neither a directory nor a regular file is not listed: a link is not followed, and no other export opens it
//       without saying where it leads.

import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, readdir } from "node:fs/promises";
import { errorOf } from "@tessera/protocol";
import { defineTool, type JsonObject, type RegisteredTool } from "@tessera/tool";
import { readableText } from "./readable-text.ts";
import {
  asPathError,
  childPath,
  type InsidePath,
  openDirectory,
  openFile,
  pathOf,
  resolveInside,
} from "./workdir-path.ts";

const ERROR_MESSAGE_LIMIT = 2_000;
const TIMEOUT_MS = 30_000;
/** At most what a result card can hold with room for escapes. */
const READ_BYTES = { default: 100_000, max: 800_000 };
const LIST_MAX = { entries: 2_000, depth: 32 };

const path = { type: "string", description: "Relative to the working directory" } as const;
const common = { errorMessageLimit: ERROR_MESSAGE_LIMIT, timeoutMs: TIMEOUT_MS, placement: "inline" } as const;

const read = defineTool({
  ...common,
  name: "file-system__read",
  description: "Reads a text file of the working directory. Bytes that are not UTF-8 are shown as U+FFFD.",
  effect: "read",
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["path"],
    properties: {
      path,
      maxBytes: { type: "integer", minimum: 1, maximum: READ_BYTES.max, default: READ_BYTES.default },
    },
  },
  handler: async (ctx, input) => {
    const place = await resolveInside(ctx.workdir, input.path);
    const file = await openFile(place, constants.O_RDONLY);
    try {
      const { size } = await file.stat();
      const bytes = await readUpTo(file, input.maxBytes + 1);
      const truncated = bytes.length > input.maxBytes;
      return { path: place.shown, size, truncated, content: readableText(bytes, input.maxBytes) };
    } finally {
      await file.close();
    }
  },
});

const write = defineTool({
  ...common,
  name: "file-system__write",
  description: "Writes a text file in the working directory, or appends to it. Missing directories are made.",
  effect: "once", // F2
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["path", "content"],
    properties: { path, content: { type: "string" }, append: { type: "boolean", default: false } },
  },
  handler: async (ctx, input) => {
    const place = await resolveInside(ctx.workdir, input.path);
    const mode = input.append ? constants.O_APPEND : 0;
    const file = await openFile(place, constants.O_WRONLY | constants.O_CREAT | mode);
    try {
      if (!input.append) await file.truncate(0);
      await file.writeFile(input.content, "utf8");
      return { path: place.shown, size: (await file.stat()).size, written: true, append: input.append };
    } catch (error) {
      throw asPathError(error, place.shown);
    } finally {
      await file.close();
    }
  },
});

const list = defineTool({
  ...common,
  name: "file-system__list",
  description: `Lists a directory of the working directory, at most ${LIST_MAX.entries} entries, in the order of their paths. Links are left out.`,
  effect: "read",
  parameters: {
    type: "object",
    additionalProperties: false,
    properties: {
      path: { ...path, default: "." },
      recursive: { type: "boolean", default: false },
      includeDirs: { type: "boolean", default: true },
      includeFiles: { type: "boolean", default: true },
    },
  },
  handler: async (ctx, input) => {
    const top = await resolveInside(ctx.workdir, input.path);
    const entries: JsonObject[] = [];
    const waiting: InsidePath[] = [top];
    let truncated = false;
    while (waiting.length > 0 && !truncated) {
      const place = waiting.shift() as InsidePath;
      ctx.signal.throwIfAborted();
      for (const entry of await entriesOf(place, place === top)) {
        truncated = entries.length === LIST_MAX.entries;
        if (truncated) break;
        const isDirectory = entry.type === "dir";
        if (isDirectory ? input.includeDirs : input.includeFiles) entries.push(entry.shown);
        if (isDirectory && input.recursive && entry.place.names.length - top.names.length < LIST_MAX.depth) {
          waiting.push(entry.place);
        }
      }
    }
    entries.sort((a, b) => String(a.path).localeCompare(String(b.path), "en"));
    const shown = { path: top.shown, recursive: input.recursive, count: entries.length, entries };
    return truncated ? { ...shown, truncated } : shown;
  },
});

const make = defineTool({
  ...common,
  name: "file-system__mkdir",
  description: "Makes a directory in the working directory.",
  effect: "idempotent", // F3
  parameters: {
    type: "object",
    additionalProperties: false,
    required: ["path"],
    properties: { path, recursive: { type: "boolean", default: true } },
  },
  handler: async (ctx, input) => {
    const place = await resolveInside(ctx.workdir, input.path);
    const parent = { ...place, names: place.names.slice(0, -1) };
    const name = place.names.at(-1);
    const result = { path: place.shown, created: true, recursive: input.recursive };
    const mayBeThere = input.recursive || ctx.attempt > 1; // F3
    if (name === undefined) return mayBeThere ? result : isThere(place);
    const directory = await openDirectory(parent, { create: input.recursive });
    try {
      const child = childPath(directory, pathOf(parent), name);
      await mkdir(child);
      return result;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw asPathError(error, place.shown);
      await (await openDirectory(place, { create: false })).close(); // a file of this name is refused here
      return mayBeThere ? result : isThere(place);
    } finally {
      await directory.close();
    }
  },
});

export const fileSystemTools: readonly RegisteredTool[] = [read, write, list, make];

function isThere(place: InsidePath): never {
  throw errorOf("conflict", `${place.shown} is there already; with recursive that is no error`);
}

interface Entry {
  readonly place: InsidePath;
  readonly type: "dir" | "file";
  readonly shown: JsonObject;
}

/** A directory below the top that vanishes while it is listed is an empty one. */
async function entriesOf(place: InsidePath, isTop: boolean): Promise<Entry[]> {
  let directory: FileHandle;
  try {
    directory = await openDirectory(place, { create: false });
  } catch (error) {
    if (isTop) throw error;
    return [];
  }
  try {
    const entries: Entry[] = [];
    const names = (await readdir(childPath(directory, pathOf(place), "."))).sort();
    for (const name of names.slice(0, LIST_MAX.entries + 1)) {
      const found = await lstat(childPath(directory, pathOf(place), name)).catch(() => null);
      if (found === null) continue;
      if (!found.isDirectory() && !found.isFile()) continue; // F4
      const inside = { root: place.root, names: [...place.names, name], shown: [...place.names, name].join("/") };
      const type = found.isDirectory() ? "dir" : "file";
      const shown = { name, path: inside.shown, type, ...(type === "file" ? { size: found.size } : {}) };
      entries.push({ place: inside, type, shown });
    }
    return entries;
  } finally {
    await directory.close();
  }
}

async function readUpTo(file: FileHandle, bytesMax: number): Promise<Buffer> {
  const buffer = Buffer.alloc(bytesMax);
  let length = 0;
  while (length < bytesMax) {
    const { bytesRead } = await file.read(buffer, length, bytesMax - length, null);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return buffer.subarray(0, length);
}
