import type { Via, AnyMethod } from "../contract/descriptor.js";
import { completeClientLimits } from "../client-limits.js";
import type { Limits } from "../limits.js";
import type { MetadataInit } from "../metadata.js";
import type { Awaitable } from "../server/router.js";
import type { Prover } from "../transport/prover.js";
import type { DirectSession, SoleStream, TransportSession } from "../transport/session.js";
import { clientSideOf, greetingOf, plainSettings } from "./plain-settings.js";
import { LaneSession } from "./lane-session.js";
import { acceptPeerStream } from "./peer-streams.js";
import type { SessionParts } from "./parts.js";
import type { Session } from "./session.js";
import { SoleSession } from "./sole-session.js";
import { settledWithin } from "../call/expiries.js";
import type { Explanation, Fault } from "../call/fault.js";
import { asError } from "../errors.js";

/** Options of `createClientSession`. `SessionOptions` documents them in detail. */
export interface ClientSessionOptions {
  /** Limits on the resources that the peer may use, as in `createSession`. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Bytes that are sent at the start of every stream and datagram of calls, as in `createSession`. Default: none. */
  readonly prefix?: Uint8Array;
  /** Credentials of this client, such as a token, as in `createSession`. Default: none. */
  readonly credentials?: string;
  /** Returns new credentials during the session, as in `createSession`. Default: credentials are not renewed. */
  readonly renewCredentials?: (() => Awaitable<string | undefined>) | undefined;
  /**
   * Metadata of this client for the session, sent with its credentials; the server does not verify it. Default: none.
   */
  readonly metadata?: MetadataInit;
  /** Proves that this client has a private key, as in `createSession`. Default: none. */
  readonly proof?: Prover | undefined;
  /**
   * Whether calls are sent on lanes (streams that many calls share) or on their own streams, unless the call's or
   * method's `via` is set. Default "auto".
   */
  readonly via?: Via;
  /** Name of the peer for error messages, such as its URL. Default: none. */
  readonly peer?: string | undefined;
}

/**
 * Creates a session for a side that only makes calls, over a transport with streams. It serves nothing and uses
 * standard MessagePack without compression; unary calls share one lane. A bundle is smaller than with `createSession`.
 */
export function createClientSession<Transport extends TransportSession>(
  transport: Transport,
  options: ClientSessionOptions = {},
): Session<Transport> {
  return new LaneSession(transport, clientParts(options)).open();
}

/**
 * Creates such a session over a transport that has a single byte stream, such as a WebSocket. A separate function,
 * because pages that use only WebTransport do not need its code.
 */
export function createSoleClientSession<Transport extends DirectSession>(
  transport: Transport,
  sole: SoleStream,
  options: ClientSessionOptions = {},
): Session<Transport> {
  return new SoleSession(transport, sole, {}, clientParts(options)).open();
}

function clientParts({
  limits: limitOverrides,
  via,
  peer,
  prefix,
  ...otherOptions
}: ClientSessionOptions): SessionParts {
  const limits = completeClientLimits(limitOverrides);
  return {
    settings: plainSettings(limits, { prefix, greeting: greetingOf(otherOptions, limits) }),
    via,
    peer,
    clientSide: clientSideOf(otherOptions, limits),
    acceptStream: acceptPeerStream,
    explain: explainByLoaded,
  };
}

/** Maximum time in milliseconds for loading the code that completes an error. */
const LOAD_MS = 3000;

/**
 * Adds details to an error of the peer, with code that is loaded on demand. If it cannot be loaded, the error's hint
 * says so.
 */
export async function explainByLoaded(fault: Fault, method: AnyMethod): Promise<Explanation> {
  let explanation: Explanation | undefined;
  let reason = `no answer within ${LOAD_MS} ms`;
  const loaded = import("./loaded-later.js").then(
    ({ explainFault }) => (explanation = explainFault(fault, method)),
    (error: unknown) => (reason = asError(error).message),
  );
  await settledWithin(LOAD_MS, loaded);
  return explanation ?? { hint: `what explains it cannot be loaded: ${reason}` };
}
