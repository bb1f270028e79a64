import type { RpcError } from "../errors.js";
import { DEFAULT_LIMITS, type Limits } from "../limits.js";
import type { Metadata } from "../metadata.js";
import { type ReadGreeting, readGreeting } from "../wire/greeting.js";
import { decodeMetadata } from "../wire/metadata.js";
import { frameAt, lookAtFirstLane } from "./first-lane.js";
import type { TransportSession } from "./session.js";

/** Greeting of a client: information about itself, sent before any call. */
export interface Greeting {
  /** The client's option `credentials`; undefined if it sent none. */
  readonly credentials: string | undefined;
  /** The client's option `metadata`, unverified; empty if it sent none. */
  readonly metadata: Metadata;
}

/** Options of `receiveGreeting`. */
export interface GreetingOptions {
  /** Bytes that each stream of calls begins with, as the option `prefix` of the session. Default: none. */
  readonly prefix?: Uint8Array;
  /** Limits: `maxGreetingBytes`, and `maxHandshakeMs`, half of which the client may use. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Milliseconds after which a client that has said nothing is taken for one without a greeting. Default: half of `maxHandshakeMs`. */
  readonly timeoutMs?: number;
}

const NOTHING: ReadGreeting = {};

/**
 * Reads a client's greeting (credentials and metadata) from a transport session before a session is created on it.
 * `createSession` on the same transport receives all bytes again. Reads at most `limits.maxGreetingBytes`, and nothing
 * after the greeting. Resolves with empty values if the client begins with something else or sends nothing in time.
 * Rejects with an `RpcError` if the greeting is too large or malformed, if the peer is gone, or if the transport has no
 * `firstStream` and is not a byte stream.
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
