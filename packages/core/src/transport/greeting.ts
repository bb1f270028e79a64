import type { RpcError } from "../errors.js";
import { DEFAULT_LIMITS, type Limits } from "../limits.js";
import type { Metadata } from "../metadata.js";
import { type ReadGreeting, readGreeting } from "../wire/greeting.js";
import { decodeMetadata } from "../wire/metadata.js";
import { frameAt, lookAtFirstLane } from "./first-lane.js";
import type { TransportSession } from "./session.js";

/** Greeting of a client: information about itself, sent before any call. */
export interface Greeting {
  /** The client's option `credentials`; undefined where it sent none. */
  readonly credentials: string | undefined;
  /** The client's option `metadata`; empty where it sent none. Nobody has proven it. */
  readonly metadata: Metadata;
}

/** Options of `receiveGreeting`. */
export interface GreetingOptions {
  /** Bytes that each stream of calls begins with, as the option `prefix` of the session. Default: none. */
  readonly prefix?: Uint8Array;
  /** Limits. `maxGreetingBytes` counts, and `maxHandshakeMs`, of which a client has half. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Milliseconds after which a client that has said nothing is taken for one without a greeting. Default: half of `maxHandshakeMs`. */
  readonly timeoutMs?: number;
}

const NOTHING: ReadGreeting = {};

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
    const settle = ({ credentials, metadata }: ReadGreeting): void => {
      clearTimeout(timer);
      resolve({ credentials, metadata: decodeMetadata(metadata) });
    };
    const fail = (error: RpcError): void => {
      clearTimeout(timer);
      reject(error);
    };
    lookAtFirstLane(transport, prefix, {
      look(bytes, start) {
        const hello = frameAt(bytes, start, maxGreetingBytes, readGreeting);
        if (hello === undefined) return true;
        settle(hello.result);
        return false;
      },
      onOther: () => settle(NOTHING),
      onFailed: fail,
    });
  });
}
