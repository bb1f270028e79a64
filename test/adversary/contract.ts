import * as wire from "@quicrpc/core/codec";
import { defineMethod, uncheckedCodec, bytesCodec, zodCodec } from "@quicrpc/core/generated";
import { resumableCalls } from "@quicrpc/durable/generated";
import type { Limits } from "@quicrpc/core";
import { z } from "zod";

const service = { name: "test.v1.Victim", id: 4700 };
const any = uncheckedCodec<unknown>();
const count = uncheckedCodec<number>();
/** Lists and objects inside one another, as generated code has `z.json()`. */
const tree: wire.Shape = wire.union(
  wire.string(),
  wire.number(),
  wire.nil(),
  wire.array(wire.lazy(() => tree)),
  wire.record(
    {},
    wire.lazy(() => tree),
  ),
);

/** Methods that the victim serves. */
export const methods = {
  echo: defineMethod(service, "unary", "echo", { id: 1, input: any, output: any }),
  /** Counts tags that a schema has looked at. */
  strict: defineMethod(service, "unary", "strict", {
    id: 2,
    input: zodCodec(z.object({ tags: z.array(z.string()) })),
    output: zodCodec(z.int()),
  }),
  /** So many zeros. */
  bytes: defineMethod(service, "unary", "bytes", { id: 3, input: count, output: bytesCodec }),
  /** Runs until the caller is gone. */
  hang: defineMethod(service, "unary", "hang", { id: 4 }),
  /** Runs for ever, whatever its signal says. */
  deaf: defineMethod(service, "unary", "deaf", { id: 5 }),
  /** Fails, so that the error hook is notified. */
  note: defineMethod(service, "notify", "note", { id: 6, input: any }),
  /** Does nothing. */
  drop: defineMethod(service, "notify", "drop", { id: 14, input: any }),
  /** So many items of 1 KiB. */
  items: defineMethod(service, "server_stream", "items", { id: 7, input: count, output: bytesCodec }),
  /** Keeps its input until the caller is gone. */
  keep: defineMethod(service, "unary", "keep", { id: 9, input: any }),
  keepBytes: defineMethod(service, "unary", "keepBytes", { id: 10, input: bytesCodec }),
  /** Takes a stream and reads none of it, until the caller is gone. */
  ignore: defineMethod(service, "client_stream", "ignore", { id: 11, input: bytesCodec, output: any }),
  /** Takes a stream and never reads it. */
  unread: defineMethod(service, "client_stream", "unread", { id: 8, input: bytesCodec, output: any }),
  /** So many items of 1 KiB, and nothing more until the caller is gone. */
  live: defineMethod(service, "server_stream", "live", {
    id: 12,
    input: count,
    output: bytesCodec,
    extension: resumableCalls,
  }),
  /** Takes what a recursive schema has looked at. */
  tree: defineMethod(service, "unary", "tree", {
    id: 13,
    input: wire.decoder<unknown>(
      () => tree,
      (r, p) => wire.readBy(r, p, tree),
    ),
  }),
  /** Takes texts of schemas that would be busy for long with some of them. */
  texts: defineMethod(service, "unary", "texts", {
    id: 15,
    input: zodCodec(
      z
        .looseObject({
          url: z.url(),
          address: z.ipv6(),
          number: z.coerce.bigint(),
          normalized: z.string().normalize(),
          emojis: z.emoji({ pattern: /^(\p{Extended_Pictographic}|\p{Emoji_Component})+$/u }),
          template: z.templateLiteral([z.string(), "-", z.string(), ":", z.string(), "!"]),
        })
        .partial(),
    ),
    output: any,
  }),
};

/** How the victim is started. */
export interface VictimSettings {
  readonly listen: readonly string[];
  readonly webSocket: boolean;
  readonly http2: boolean;
  /**
   * "never": `authenticate` never decides; "first": it accepts the first client, and never decides about others;
   * "reads": it accepts every client whose greeting it has read; "slow": it takes a second for every client, and
   * refuses HTTP requests.
   */
  readonly http?: boolean;
  readonly limits?: Partial<Limits>;
  /** Reads and writes compressed messages, in all ways that this Node has. */
  readonly compressed?: boolean;
  /**
   * "never": `authenticate` never decides; "first": it lets in whoever comes first, and never decides about others; "reads": it lets
   * everybody in whose greeting it has read; "slow": it looks a second long for everybody, and refuses HTTP requests.
   */
  readonly authenticate?: "never" | "first" | "reads" | "slow";
}

/** Resources that the victim holds. */
export interface Held {
  /** Bytes in JavaScript's heap, and outside it on its account, after a collection. */
  readonly live: number;
  /** Bytes of the process. */
  readonly resident: number;
  /** The most of them since the last measurement with `reset`. */
  readonly peak: number;
  readonly sessions: number;
  /** Handlers that run. */
  readonly handlers: number;
}
