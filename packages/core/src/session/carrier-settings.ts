import { greetingOf, plainSettings } from "./plain-settings.js";
import type { CarrierSettings } from "../call/carrier.js";
import { msgpack, FormatTable } from "../call/messages/session-format.js";
import type { CompressionOptions } from "../contract/compression.js";
import type { SessionCodec } from "../contract/codec.js";
import type { Limits } from "../limits.js";
import type { MetadataInit } from "../metadata.js";
import type { ServerBudget } from "../memory-budget.js";
import type { Prover } from "../transport/prover.js";
import { SessionCompression } from "../transport/compression.js";
import type { Awaitable } from "../server/router.js";

/** Options of a session about how calls are carried. */
export interface CarrierOptions {
  /**
   * How the messages of this side's calls, and of their answers, are written. Default: standard MessagePack. The callee must
   * have it, among its `codecs` or in its own right: `json` and `raw` are known everywhere.
   */
  readonly codec?: SessionCodec;
  /**
   * Codecs that the peer may choose for its calls, in addition to MessagePack, `json`, `raw` and this side's own
   * `codec`. Default: none.
   */
  readonly codecs?: readonly SessionCodec[];
  /** Compresses messages if the peer can decompress them. Default: neither writes nor reads compressed messages. */
  readonly compression?: CompressionOptions;
  /**
   * Bytes at the beginning of every stream and datagram of calls. Needed if the transport session is shared with
   * another protocol whose streams could be mistaken for calls. Both sides must use the same prefix. Default: none.
   */
  readonly prefix?: Uint8Array;
  /**
   * Credentials of this side, as the client, sent before any call, such as a token. The whole greeting has at most
   * `limits.maxGreetingBytes`. The server's `authenticate`, or `receiveGreeting`, gets them. Default: none.
   */
  readonly credentials?: string;
  /**
   * Returns new credentials for a session in progress. It is called shortly before the last ones expire, when the
   * server demands it, and after a call failed with `unauthenticated`; never twice at once. Undefined: there are none,
   * and the session ends. Default: none are renewed.
   */
  readonly renewCredentials?: (() => Awaitable<string | undefined>) | undefined;
  /**
   * Session metadata of this side as the client, sent with its credentials: what it claims about itself, such as its
   * version or tenant. The server does not verify it. Default: none.
   */
  readonly metadata?: MetadataInit;
  /**
   * Proves, as the client, that this side has a key, to a server that asks for it: `prover` of `@quicrpc/core/proof`. Calls wait until then: await
   * `proof.proven(session)` before the first. Default: none.
   */
  readonly proof?: Prover | undefined;
}

// Pure: sessions of plain settings leave the table, and the codecs in it, out of a bundle.
const standardFormats = /* @__PURE__ */ new FormatTable([]);

/** How calls are carried, with the codecs that the peer may choose. Throws `TypeError` for a codec whose name does not fit. */
export function carrierSettings(
  { codec = msgpack, codecs = [], compression, prefix, ...said }: CarrierOptions,
  limits: Limits,
  server?: ServerBudget,
): CarrierSettings & { readonly formats: FormatTable; readonly limits: Limits } {
  const usual = codec === msgpack && codecs.length === 0;
  const formats = usual ? standardFormats : new FormatTable([codec, ...codecs]);
  const plain = plainSettings(limits, { prefix, greeting: greetingOf(said, limits) }, server);
  // Field by field: spread, each would have a shape of its own, which takes more than the object.
  return {
    format: formats.find(codec.name),
    greeting: plain.greeting,
    limits,
    budget: plain.budget,
    traffic: plain.traffic,
    prefix: plain.prefix,
    compression: compression && new SessionCompression(compression, limits.maxDecompressedBytes),
    formats,
  };
}
