import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS, type Limits } from "../limits.js";
import { MemoryBudget } from "../memory-budget.js";
import type { Metadata } from "../metadata.js";
import { type RawGreeting, readGreeting } from "../wire/hello.js";
import { decodeMetadata } from "../wire/metadata.js";
import { FrameReader } from "../wire/reader.js";
import * as StreamKind from "../wire/stream-kind.js";
import { readVarint, varintLengthFromFirstByte } from "../wire/varint.js";
import type { DirectStream, TransportSession } from "./session.js";

/** Greeting of a client: information about itself, sent before any call. */
export interface Greeting {
  /** The client's option `credentials`; undefined where it sent none. */
  readonly credentials: string | undefined;
  /** The client's option `metadata`; empty where it sent none. Nobody has proven it. */
  readonly metadata: Metadata;
}

/** Options of `receiveGreeting`. */
export interface GreetingOptions {
  /** As the session's own. */
  readonly prefix?: Uint8Array;
  /** Limits. `maxGreetingBytes` counts, and `maxHandshakeMs`, of which a client has half. */
  readonly limits?: Partial<Limits>;
  /** Milliseconds after which a client that has said nothing is taken for one without a greeting. Default: half of `maxHandshakeMs`. */
  readonly timeoutMs?: number;
}

const NOTHING: RawGreeting = {};

/**
 * Reads what the client of a transport session says of itself, before a session is made of it: `createSession` on the same
 * transport receives all bytes again. At most `limits.maxGreetingBytes` are read, and nothing that follows. Resolves without
 * any where the client begins with something else, or has said nothing in time. Rejects with an `RpcError` where the
 * greeting is too large or malformed, the peer is gone, or the transport has no `firstStream` and is no byte stream.
 */
export function receiveGreeting(
  transport: TransportSession,
  { prefix = new Uint8Array(0), limits, timeoutMs }: GreetingOptions = {},
): Promise<Greeting> {
  const { maxGreetingBytes, maxHandshakeMs } = { ...DEFAULT_LIMITS, ...limits };
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(NOTHING), timeoutMs ?? maxHandshakeMs / 2);
    const settle = ({ credentials, metadata }: RawGreeting): void => {
      clearTimeout(timer);
      resolve({ credentials, metadata: decodeMetadata(metadata) });
    };
    const fail = (error: RpcError): void => {
      clearTimeout(timer);
      reject(error);
    };
    const look = (bytes: Uint8Array, expected: Uint8Array): boolean => {
      try {
        const greeting = greetingIn(bytes, expected, maxGreetingBytes);
        if (greeting === undefined) return true;
        settle(greeting);
      } catch (error) {
        fail(RpcError.from(error, "invalid_argument"));
      }
      return false;
    };
    const gone = (): void => fail(new RpcError("cancelled", "the peer ended its first stream before its greeting"));
    const onStream = (stream: DirectStream, expected: Uint8Array): void => {
      if (stream.peek === undefined) fail(unable());
      else stream.peek((bytes) => look(bytes, expected), gone);
    };
    if (!("openStream" in transport)) fail(unable());
    // One byte stream has no prefix.
    else if (transport.sole !== undefined) onStream(transport.sole, new Uint8Array(0));
    else if (transport.firstStream === undefined) fail(unable());
    else transport.firstStream((stream) => onStream(stream, prefix));
  });
}

function unable(): RpcError {
  return new RpcError("internal", "the transport cannot be read before there is a session: it carries no greeting");
}

/** The greeting that a stream begins with; undefined while more bytes are needed. */
function greetingIn(bytes: Uint8Array, prefix: Uint8Array, maxBytes: number): RawGreeting | undefined {
  const known = Math.min(prefix.length, bytes.length);
  for (let at = 0; at < known; at++) if (bytes[at] !== prefix[at]) return NOTHING;
  let at = prefix.length;
  const kindEnd = varintEnd(bytes, at);
  if (kindEnd === undefined) return undefined;
  if (readVarint(bytes, at) !== StreamKind.Lane) return NOTHING;
  at = kindEnd;
  const bodyStart = varintEnd(bytes, at);
  if (bodyStart === undefined) return undefined;
  const end = bodyStart + readVarint(bytes, at);
  if (end - at > maxBytes) {
    throw new RpcError("resource_exhausted", `a greeting has at most ${maxBytes} bytes (limits.maxGreetingBytes)`);
  }
  if (bytes.length < end) return undefined;
  let greeting = NOTHING;
  const reader = new FrameReader(maxBytes, new MemoryBudget(maxBytes, "limits.maxGreetingBytes"));
  reader.push(bytes.subarray(0, end), at, (frame) => {
    greeting = readGreeting(frame);
  });
  return greeting;
}

/** Where the varint at `at` ends; undefined while it is incomplete. */
function varintEnd(bytes: Uint8Array, at: number): number | undefined {
  if (at >= bytes.length) return undefined;
  const end = at + varintLengthFromFirstByte(bytes[at] as number);
  return end > bytes.length ? undefined : end;
}
