import { Metadata, RpcError } from "@quicrpc/core";
import { gzip } from "../../packages/http/src/protocol/compression.js";
import { readContentType } from "../../packages/http/src/protocol/read-content-type.js";
import { readEndOfStream, writeEndOfStream } from "../../packages/http/src/protocol/end-of-stream.js";
import { EnvelopeReader, writeEnvelope } from "../../packages/http/src/protocol/envelope.js";
import { readGetQuery, writeGetQuery } from "../../packages/http/src/protocol/get-query.js";
import { readStruct, writeStruct } from "../../packages/http/src/protocol/struct.js";
import { readTimeout } from "../../packages/http/src/protocol/request-headers.js";
import type { Target } from "./fuzz.js";

const MAX_MESSAGE = 4096;

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * Returns the result of `read`, or undefined if it refuses as the protocol specifies; any other exception is a fault.
 */
function refusable<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (error) {
    if (error instanceof RpcError) return undefined;
    throw error;
  }
}

const messages = [utf8("{}"), utf8('{"a":[1,2]}'), new Uint8Array(300), new Uint8Array(0)];
const streams = messages.map((bytes, flags) => writeEnvelope({ flags, bytes }));

/** The messages of `input`, which arrives in pieces of the size that `next` says. */
function split(
  input: Uint8Array,
  next: () => number,
): { readonly messages: readonly string[]; readonly failed: boolean } {
  const found: string[] = [];
  const reader = new EnvelopeReader(MAX_MESSAGE);
  const ended = refusable(() => {
    for (let at = 0; at < input.length; ) {
      const to = Math.min(input.length, at + next());
      reader.push(input.slice(at, to));
      for (let each = reader.next(); each !== undefined; each = reader.next()) {
        found.push(`${each.flags} ${Buffer.from(each.bytes).toString("hex")}`);
      }
      at = to;
    }
    return true;
  });
  return { messages: found, failed: ended === undefined };
}

const envelopes: Target = {
  name: "http envelopes",
  corpus: [...streams, Buffer.concat(streams), utf8("<html>a page</html>")],
  run(input, random) {
    const whole = split(input, () => input.length);
    const pieces = split(input, () => 1 + random.below(9));
    if (whole.failed !== pieces.failed || whole.messages.join() !== pieces.messages.join()) {
      throw new Error("the messages are others when they come in pieces");
    }
    return whole.messages.length;
  },
};

const endings = [
  { error: undefined, trailers: new Metadata() },
  { error: undefined, trailers: new Metadata({ cost: ["1", "2"], "raw-bin": Uint8Array.of(1, 2) }) },
  { error: { code: "aborted", message: "why", details: [{ type: "a.B", value: "AA" }] }, trailers: new Metadata() },
].map(writeEndOfStream);

const ends: Target = {
  name: "http end of stream",
  corpus: [...endings, utf8("null"), utf8('{"error":{"code":null},"metadata":{"__proto__":["x"]}}')],
  run(input) {
    const end = refusable(() => readEndOfStream(input));
    if (end === undefined) return 0;
    refusable(() => writeEndOfStream({ error: undefined, trailers: end.trailers }));
    return end.trailers.size + (end.error?.details.length ?? 0);
  },
};

const structs: Target = {
  name: "http struct",
  corpus: [{}, { a: 1 }, { b: [true, null, "x", [[]]], c: { d: { e: 0.5 } } }].map(writeStruct),
  run(input) {
    const struct = readStruct(input);
    if (struct === undefined) return 0;
    const again = readStruct(writeStruct(struct));
    if (JSON.stringify(again) !== JSON.stringify(struct))
      throw new Error("a struct is another when it is written again");
    return JSON.stringify(struct).split(/[,:]/).length;
  },
};

const heads: Target = {
  name: "http heads",
  corpus: [
    utf8(writeGetQuery({ codec: "json", message: utf8('{"a":"ü&="}') })),
    utf8(writeGetQuery({ codec: "msgpack", message: Uint8Array.of(1, 255), compression: "gzip" })),
    utf8("application/connect+json; charset=utf-8"),
    utf8("5000"),
  ],
  run(input) {
    const given = text(input);
    const query = refusable(() => readGetQuery(new URLSearchParams(given)));
    refusable(() => readTimeout(given));
    readContentType(given);
    return query === undefined ? 0 : 1;
  },
};

const compressed: Target = {
  name: "http gzip",
  corpus: await Promise.all(messages.map((bytes) => gzip.compress(bytes))),
  async run(input) {
    try {
      const { length } = await gzip.decompress(input, MAX_MESSAGE);
      if (length > MAX_MESSAGE) throw new Error(`${length} bytes came out of a compressed message`);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
    }
    return 0;
  },
};

/** Targets of the protocol of plain HTTP. */
export const httpTargets: readonly Target[] = [envelopes, ends, structs, heads, compressed];
