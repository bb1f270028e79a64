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

export interface CarrierOptions {
  /**
   * Encoding of the messages of this side's calls and of their responses. The callee must support it: `json` and `raw`
   * are always supported, others must be in the callee's `codecs` or be its own `codec`. Default: standard MessagePack.
   */
  readonly codec?: SessionCodec;
  /**
   * Codecs that the peer may use for its calls, in addition to MessagePack, `json`, `raw` and this side's own `codec`.
   * Default: none.
   */
  readonly codecs?: readonly SessionCodec[];
  /**
   * Compression of messages, if the peer can decompress them. Default: messages are not compressed, and compressed
   * messages are not accepted.
   */
  readonly compression?: CompressionOptions;
  /**
   * Bytes that this side sends at the start of every stream and datagram of calls. Needed if the transport session is
   * shared with another protocol whose streams could be mistaken for calls. Both sides must use the same prefix.
   * Default: none.
   */
  readonly prefix?: Uint8Array;
  /**
   * Credentials of this client, such as a token. They are sent before any call, to the server's `authenticate` or
   * `receiveGreeting`. Credentials and metadata together have at most `limits.maxGreetingBytes` bytes. Default: none.
   */
  readonly credentials?: string;
  /**
   * Returns new credentials during a session. Called shortly before the current ones expire, when the server demands
   * it, and after a call has failed with `unauthenticated`; never while an earlier call of it is pending. If it returns
   * undefined, the session ends when the server no longer accepts the old credentials. Default: credentials are not
   * renewed.
   */
  readonly renewCredentials?: (() => Awaitable<string | undefined>) | undefined;
  /**
   * Metadata of this client for the session, such as its version or tenant. It is sent with the credentials; the server
   * does not verify it. Default: none.
   */
  readonly metadata?: MetadataInit;
  /**
   * Prover with which this client proves to servers that it has a private key; see `prover` of `@quicrpc/core/proof`.
   * Await `proof.proven(session)` before the first call. Default: none.
   */
  readonly proof?: Prover | undefined;
}

// Marked as pure, so that bundles of sessions without codecs omit it.
const standardFormats = /* @__PURE__ */ new FormatTable([]);

/**
 * Returns the encoding settings of a session, and the codecs that the peer may choose. Throws `TypeError` if a codec
 * has an invalid name.
 */
export function carrierSettings(
  { codec = msgpack, codecs = [], compression, prefix, ...otherOptions }: CarrierOptions,
  limits: Limits,
  server?: ServerBudget,
): CarrierSettings & { readonly formats: FormatTable; readonly limits: Limits } {
  const usual = codec === msgpack && codecs.length === 0;
  const formats = usual ? standardFormats : new FormatTable([codec, ...codecs]);
  const plain = plainSettings(limits, { prefix, greeting: greetingOf(otherOptions, limits) }, server);
  // Written without a spread, which would give each object a hidden class of its own and take more memory.
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
