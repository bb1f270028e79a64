import type { Via } from "../contract/descriptor.js";
import { completeLimits, type Limits } from "../limits.js";
import type { MetadataInit } from "../metadata.js";
import type { Awaitable } from "../server/router.js";
import type { Prover } from "../transport/prover.js";
import type { TransportSession } from "../transport/session.js";
import { clientSideOf, greetingOf, plainSettings } from "./carrier-settings.js";
import { LaneSession } from "./lane-session.js";
import { takePeerStreams } from "./peer-streams.js";
import type { Session } from "./session.js";

/** Options of `createClientSession`; `SessionOptions` explains them. */
export interface ClientSessionOptions {
  readonly limits?: Partial<Limits>;
  readonly prefix?: Uint8Array;
  readonly credentials?: string;
  readonly renewCredentials?: (() => Awaitable<string | undefined>) | undefined;
  readonly metadata?: MetadataInit;
  readonly proof?: Prover | undefined;
  readonly via?: Via;
  readonly peer?: string | undefined;
}

/**
 * As `createSession`, for a side that only calls, over a transport with streams: it serves nothing, writes standard MessagePack
 * without compression, and calls of single messages share one lane. What it leaves out stays out of a bundle.
 */
export function createClientSession<Transport extends TransportSession>(
  transport: Transport,
  { limits: given, via, peer, prefix, ...said }: ClientSessionOptions = {},
): Session<Transport> {
  const limits = completeLimits(given);
  return new LaneSession(transport, {
    settings: plainSettings(limits, { prefix, greeting: greetingOf(said, limits) }),
    via,
    peer,
    clientSide: clientSideOf(said, limits),
    peerStreams: takePeerStreams,
  }).open();
}
