import { type Limits, RpcError } from "@quicrpc/core";
import { type Greeting, receiveGreeting } from "@quicrpc/core/transport";
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
  let forgotten = false;
  const read = async (): Promise<Greeting> => {
    if (forgotten) throw tooLate();
    const greeting = receiveGreeting(transport, {
      limits,
      timeoutMs: Math.min(visit.remainingMs, limits.maxHandshakeMs / 2),
      ...(prefix !== undefined && { prefix }),
    });
    visit.greet?.(limits.maxGreetingBytes + FRAMING);
    return greeting;
  };
  const field = <Name extends keyof Greeting>(name: Name): PropertyDescriptor => ({
    enumerable: true,
    get: () => {
      reading ??= read();
      const value = reading.then((greeting) => greeting[name]);
      // Whoever only looks at the field need not wait for it.
      value.catch(() => {});
      return value;
    },
  });
  const fields = { credentials: field("credentials"), metadata: field("metadata") };
  return {
    peer: Object.defineProperties(peer as Peer, fields),
    forget: () => {
      forgotten = true;
      reading = undefined;
    },
  };
}

/** The same peer with the greeting that it renewed. */
export function renewedPeer(peer: Peer, { credentials, metadata }: Greeting): Peer {
  const { transport, listener, remoteAddress, headers, path, origin, certificate, earlyData, handshake } = peer;
  const known = { transport, listener, remoteAddress, headers, path, origin, certificate, earlyData, handshake };
  return { ...known, credentials: Promise.resolve(credentials), metadata: Promise.resolve(metadata) };
}

function tooLate(): RpcError {
  const text = "the client's greeting is kept until authenticate has decided";
  return new RpcError("failed_precondition", text, { hint: "put what is needed later into what authenticate returns" });
}
