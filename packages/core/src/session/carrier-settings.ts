import type { CarrierSettings } from "../call/carrier.js";
import { msgpack } from "../call/messages/session-codecs.js";
import { FormatTable } from "../call/messages/session-format.js";
import type { CompressionOptions } from "../contract/compression.js";
import type { SessionCodec } from "../contract/session-codec.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Metadata, type MetadataInit } from "../metadata.js";
import { MemoryBudget, type ServerBudget } from "../memory-budget.js";
import type { ClientSide, Prover, ProvingHost } from "../transport/prover.js";
import { SessionCompression } from "../transport/compression.js";
import type { Awaitable } from "../server/router.js";
import type { RawGreeting } from "../wire/hello.js";
import { encodeMetadata } from "../wire/metadata.js";
import { LateRenewal } from "./late-renewal.js";

/** Options of a session about how calls are carried. */
export interface CarrierOptions {
  /**
   * How the messages of this side's calls, and of their answers, are written. Default: standard MessagePack. The callee must
   * have it, among its `codecs` or in its own right: `json` and `raw` are known everywhere.
   */
  readonly codec?: SessionCodec;
  /** Codecs that the peer may choose for its calls, beside MessagePack, `json`, `raw` and this side's own `codec`. Default: none. */
  readonly codecs?: readonly SessionCodec[];
  /** Compresses messages where the peer can read that. Default: neither writes nor reads compressed messages. */
  readonly compression?: CompressionOptions;
  /**
   * Bytes that every stream and datagram of calls begins with, where the transport session is shared with another protocol whose
   * streams could be mistaken for them. Both sides must have the same. Default: none.
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
   * Session metadata of this side, as the client: what it says of itself beside its credentials, such as its version or tenant. It goes
   * with them, and nobody has proven it. Default: none.
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

/** The first bytes of streams, and of this side's first lane. */
interface Opening {
  readonly prefix?: Uint8Array | undefined;
  readonly greeting?: RawGreeting | undefined;
}

/** How calls are carried in standard MessagePack, without compression. */
export function plainSettings(
  limits: Limits,
  { prefix = new Uint8Array(0), greeting }: Opening,
  server?: ServerBudget,
): CarrierSettings {
  return {
    format: undefined,
    greeting,
    limits,
    budget: new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", server),
    traffic: { sentBytes: 0, extraCredit: 0 },
    prefix: prefix.slice(),
    compression: undefined,
  };
}

/** How calls are carried, with the codecs that the peer may choose. Throws `TypeError` for a codec whose name does not fit. */
export function carrierSettings(
  { codec = msgpack, codecs = [], compression, prefix, ...said }: CarrierOptions,
  limits: Limits,
  server?: ServerBudget,
): CarrierSettings & { readonly formats: FormatTable } {
  const usual = codec === msgpack && codecs.length === 0;
  const formats = usual ? standardFormats : new FormatTable([codec, ...codecs]);
  return {
    ...plainSettings(limits, { prefix, greeting: greetingOf(said, limits) }, server),
    format: formats.find(codec.name),
    formats,
    compression: compression && new SessionCompression(compression, limits.maxDecompressedBytes),
  };
}

/** Bytes of a greeting beside credentials and metadata, at most. */
const GREETING_OVERHEAD = 512;

/** Options about what a client says of itself. */
interface SaidOptions {
  readonly credentials?: string | undefined;
  readonly metadata?: MetadataInit | undefined;
  readonly proof?: Pick<Prover, "fields"> | undefined;
  readonly renewCredentials?: CarrierOptions["renewCredentials"];
}

/** Returns what answers the server's questions about the client: its credentials are renewed, its key is proven. Undefined where neither is. */
export function clientSideOf(
  { credentials, metadata, proof, renewCredentials: ask }: SaidOptions & Pick<CarrierOptions, "proof">,
  limits: Limits,
): ((host: ProvingHost) => ClientSide) | undefined {
  const renewed = async (host: ProvingHost): Promise<RawGreeting | undefined> => {
    const credentials = await ask?.();
    if (credentials === undefined) return undefined;
    const fields = await proof?.prove(host, credentials);
    return greetingOf({ credentials, metadata, proof: fields && { fields } }, limits);
  };
  const renewal = ask && ((host: ProvingHost) => new LateRenewal(host, () => renewed(host)));
  return proof === undefined ? renewal : (host) => proof.follow(host, credentials, renewal?.(host));
}

/** The greeting of a session; undefined where it says nothing. Throws `RpcError` where it is longer than a server takes. */
export function greetingOf(
  { credentials, metadata: given, proof, renewCredentials }: SaidOptions,
  { maxGreetingBytes }: Limits,
): RawGreeting | undefined {
  if ((credentials ?? given ?? renewCredentials ?? proof) === undefined) return undefined;
  const metadata = encodeMetadata(Metadata.from(given), Infinity);
  const fields = proof?.fields;
  const bytes = new TextEncoder().encode(credentials).length + (metadata?.length ?? 0) + (fields?.length ?? 0);
  if (bytes + GREETING_OVERHEAD <= maxGreetingBytes) {
    return { credentials, metadata, fields, ...(renewCredentials !== undefined && { renews: true }) };
  }
  const text = `credentials and metadata of ${bytes} bytes do not fit a greeting of ${maxGreetingBytes} (limits.maxGreetingBytes)`;
  throw new RpcError("invalid_argument", text);
}
