import type { Proof } from "@quicrpc/core/proof";
import { type Limits, RpcError } from "@quicrpc/core";
import {
  type Greeting,
  type GreetingOptions,
  receiveGreeting,
  type RenewedGreeting,
  type TransportSession,
} from "@quicrpc/core/transport";
import type { Arrival } from "./listen/listener.js";
import type { Peer } from "./peer.js";

/** Bytes that a transport puts around a greeting, such as the head of a WebSocket message. */
const FRAMING = 4096;

/** A peer whose greeting is kept until it has been decided about. */
export interface GreetedPeer {
  readonly peer: Peer;
  /** Releases the greeting: sessions are many, and what proves who a client is need not stay in memory. */
  readonly forget: () => void;
}

/** The peer of an arrival, whose greeting is read when somebody asks for it; otherwise it stays unread until the session begins. */
export function greetedPeer(
  { transport, peer, visit }: Arrival,
  limits: Limits,
  prefix: Uint8Array | undefined,
): GreetedPeer {
  let reading: Promise<Greeting> | undefined;
  let proving: Promise<Proof | undefined> | undefined;
  let forgotten = false;
  const options = (): GreetingOptions => ({
    limits,
    timeoutMs: Math.min(visit.remainingMs, limits.maxHandshakeMs / 2),
    ...(prefix !== undefined && { prefix }),
  });
  const read = async (): Promise<Greeting> => {
    if (forgotten) throw tooLate();
    const greeting = receiveGreeting(transport, options());
    visit.greet?.(limits.maxGreetingBytes + FRAMING);
    return greeting;
  };
  const prove = async (): Promise<Proof | undefined> => {
    reading ??= read();
    await reading;
    if (forgotten) throw tooLate();
    const { receiveProof } = await import("@quicrpc/core/proof");
    const proof = receiveProof(transport, options());
    visit.greet?.(limits.maxGreetingBytes + FRAMING);
    return proof;
  };
  const fields = {
    credentials: lazy(() => (reading ??= read()).then(({ credentials }) => credentials)),
    metadata: lazy(() => (reading ??= read()).then(({ metadata }) => metadata)),
    proof: lazy(() => (proving ??= prove())),
  };
  return {
    peer: Object.defineProperties(peer as Peer, fields),
    forget: () => {
      forgotten = true;
      reading = undefined;
      proving = undefined;
    },
  };
}

/** A field that is asked for when somebody looks at it. */
function lazy(ask: () => Promise<unknown>): PropertyDescriptor {
  return {
    enumerable: true,
    get: () => {
      const value = ask();
      // Whoever only looks at the field need not wait for it.
      value.catch(() => {});
      return value;
    },
  };
}

/** The same peer with the greeting that it renewed, in a session over `transport`. */
export function renewedPeer(
  peer: Peer,
  { credentials, metadata, claim }: RenewedGreeting,
  over: TransportSession,
): Peer {
  const { transport, listener, remoteAddress, headers, path, origin, certificate, earlyData, handshake } = peer;
  const known = { transport, listener, remoteAddress, headers, path, origin, certificate, earlyData, handshake };
  let proving: Promise<Proof | undefined> | undefined;
  const prove = async (): Promise<Proof | undefined> => {
    if (claim === undefined) return undefined;
    const { verifyProof } = await import("@quicrpc/core/proof");
    return verifyProof(claim, credentials, over);
  };
  const renewed = { ...known, credentials: Promise.resolve(credentials), metadata: Promise.resolve(metadata) };
  return Object.defineProperties(renewed as Peer, { proof: lazy(() => (proving ??= prove())) });
}

function tooLate(): RpcError {
  const text = "the client's greeting is kept until authenticate has decided";
  return new RpcError("failed_precondition", text, { hint: "put what is needed later into what authenticate returns" });
}
