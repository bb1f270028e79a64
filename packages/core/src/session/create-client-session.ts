import type { Via, AnyMethod } from "../contract/descriptor.js";
import { completeClientLimits } from "../client-limits.js";
import type { Limits } from "../limits.js";
import type { MetadataInit } from "../metadata.js";
import type { Awaitable } from "../server/router.js";
import type { Prover } from "../transport/prover.js";
import type { TransportSession } from "../transport/session.js";
import { clientSideOf, greetingOf, plainSettings } from "./plain-settings.js";
import { LaneSession } from "./lane-session.js";
import { takePeerStreams } from "./peer-streams.js";
import type { Session } from "./session.js";
import { atMost } from "../call/expiries.js";
import type { Explanation, Fault } from "../call/fault.js";
import { asError } from "../errors.js";

/** Options of `createClientSession`; `SessionOptions` explains them. */
export interface ClientSessionOptions {
  /** Limits on what the peer may cost, as in `createSession`. Default: `DEFAULT_LIMITS`. */
  readonly limits?: Partial<Limits>;
  /** Bytes at the start of every stream and datagram of calls, as in `createSession`. Default: none. */
  readonly prefix?: Uint8Array;
  /** Credentials of this side, such as a token, as in `createSession`. Default: none. */
  readonly credentials?: string;
  /** Returns new credentials during the session, as in `createSession`. Default: credentials are not renewed. */
  readonly renewCredentials?: (() => Awaitable<string | undefined>) | undefined;
  /** Session metadata of this side: unverified claims, sent with its credentials. Default: none. */
  readonly metadata?: MetadataInit;
  /** Proves that this side has a key, as in `createSession`. Default: none. */
  readonly proof?: Prover | undefined;
  /** How calls travel, unless their options say otherwise. Default "auto". */
  readonly via?: Via;
  /** The peer's name in the errors of calls, such as its URL. Default: none. */
  readonly peer?: string | undefined;
}

/**
 * Like `createSession`, for a side that only calls, over a transport with streams. It serves nothing, writes standard
 * MessagePack without compression, and its calls of single messages share one lane. The other features stay out of a
 * bundle.
 */
export function createClientSession<Transport extends TransportSession>(
  transport: Transport,
  { limits: given, via, peer, prefix, ...said }: ClientSessionOptions = {},
): Session<Transport> {
  const limits = completeClientLimits(given);
  return new LaneSession(transport, {
    settings: plainSettings(limits, { prefix, greeting: greetingOf(said, limits) }),
    via,
    peer,
    clientSide: clientSideOf(said, limits),
    peerStreams: takePeerStreams,
    explain: explainByLoaded,
  }).open();
}

/** Milliseconds that an error waits for the code that completes it. */
const LOAD_MS = 3000;

/** Completes an error with code that is loaded on demand. If that fails, the error's hint says so. */
export async function explainByLoaded(fault: Fault, method: AnyMethod): Promise<Explanation> {
  let explanation: Explanation | undefined;
  let reason = `no answer within ${LOAD_MS} ms`;
  const loaded = import("./loaded-later.js").then(
    ({ explainFault }) => (explanation = explainFault(fault, method)),
    (error: unknown) => (reason = asError(error).message),
  );
  await atMost(LOAD_MS, loaded);
  return explanation ?? { hint: `what explains it cannot be loaded: ${reason}` };
}
