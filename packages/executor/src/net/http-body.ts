// A response body, read with limits and decompressed.
//
//   B1. Reading stops, and the connection with it, as soon as the answer is known to be longer than `bytesMax`: on the
//       wire, so that an endless body that unpacks to nothing ends too, and after decompression.
//   B2. Within that cap, a body that unpacks to more than RATIO_MAX times what came over the wire is refused: a caller
//       with a large cap must not spend minutes on unpacking zeros.
//   B3. Only encodings that were asked for are decoded, one layer deep; another one is an error rather than noise.

import { type Duplex, pipeline, Readable } from "node:stream";
import { constants, createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from "node:zlib";
import { errorOf } from "@tessera/protocol";

const RATIO_MAX = 100;
/** Below this size a high ratio is an ordinary page with a lot of blanks. */
const RATIO_FREE_BYTES = 256 * 1024;
/** Framing that compression may add to content that does not shrink. */
const WIRE_SLACK_BYTES = 16 * 1024;

export interface ReadOptions {
  /** The `content-encoding` header; empty for none. */
  readonly encoding: string;
  readonly bytesMax: number;
}

export interface ReadResult {
  readonly body: Uint8Array;
  readonly truncated: boolean;
}

interface Wire {
  bytes: number;
  isCut: boolean;
  readonly bytesMax: number;
}

export async function readBody(body: Readable, options: ReadOptions): Promise<ReadResult> {
  const wire: Wire = { bytes: 0, isCut: false, bytesMax: options.bytesMax + WIRE_SLACK_BYTES };
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of decoded(counted(body, wire), options.encoding.trim().toLowerCase())) {
      length += chunk.length;
      if (length > RATIO_FREE_BYTES && length > RATIO_MAX * wire.bytes) {
        throw errorOf("payload_too_large", `the answer unpacks to more than ${RATIO_MAX} times its size`); // B2
      }
      chunks.push(chunk);
      if (length > options.bytesMax) break; // B1
    }
  } finally {
    body.destroy(); // Ends the connection of a body that was not read to its end, whatever the reason.
  }
  const truncated = length > options.bytesMax || wire.isCut;
  return { body: Buffer.concat(chunks).subarray(0, options.bytesMax), truncated };
}

async function* counted(body: Readable, wire: Wire): AsyncGenerator<Buffer> {
  for await (const chunk of body as AsyncIterable<Buffer>) {
    wire.bytes += chunk.length;
    yield chunk;
    if (wire.bytes > wire.bytesMax) {
      wire.isCut = true;
      return; // B1
    }
  }
}

async function* decoded(wire: AsyncGenerator<Buffer>, encoding: string): AsyncGenerator<Buffer> {
  if (encoding === "" || encoding === "identity") {
    yield* wire;
    return;
  }
  const first = await wire.next();
  if (first.done === true) return; // An empty body needs no decoder, which would miss its header.
  const decoder = decoderOf(encoding, first.value);
  const source = Readable.from(withFirst(first.value, wire), { objectMode: false });
  // The callback takes the errors of the stages; the loop below meets the same error and throws it.
  pipeline(source, decoder, () => {});
  yield* decoder as AsyncIterable<Buffer>;
}

async function* withFirst(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

function decoderOf(encoding: string, first: Buffer): Duplex {
  // A body that was cut by B1 ends in the middle of a block, which is no error here; a connection that breaks is one
  // already before the decoder sees it.
  const zlib = { finishFlush: constants.Z_SYNC_FLUSH };
  if (encoding === "gzip" || encoding === "x-gzip") return createGunzip(zlib);
  if (encoding === "br") return createBrotliDecompress({ finishFlush: constants.BROTLI_OPERATION_FLUSH });
  if (encoding === "deflate") {
    // Servers send both the zlib format and bare deflate under this name; the low half of the first byte tells them apart.
    return ((first[0] ?? 0) & 0x0f) === 8 ? createInflate(zlib) : createInflateRaw(zlib);
  }
  throw errorOf("upstream_unavailable", "the answer has a content encoding that was not asked for"); // B3
}
