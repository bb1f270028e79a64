import type { Limits } from "@quicrpc/core";
import { type Greeting, receiveGreeting } from "@quicrpc/core/transport";
import type { Arrival } from "./listen/listener.js";
import type { Peer } from "./peer.js";

/** Bytes that a transport puts around a greeting, such as the head of a WebSocket message. */
const FRAMING = 4096;

/** The peer of an arrival, whose greeting is read when somebody asks for it; otherwise it stays unread until the session begins. */
export function greetedPeer({ transport, peer, visit }: Arrival, limits: Limits, prefix: Uint8Array | undefined): Peer {
  let reading: Promise<Greeting> | undefined;
  const read = (): Promise<Greeting> => {
    const greeting = receiveGreeting(transport, {
      limits,
      timeoutMs: Math.min(visit.remainingMs, limits.maxHandshakeMs / 2),
      ...(prefix !== undefined && { prefix }),
    });
    visit.greet?.(limits.maxGreetingBytes + FRAMING);
    return greeting;
  };
  const field = <Name extends keyof Greeting>(name: Name): PropertyDescriptor => {
    let value: Promise<Greeting[Name]> | undefined;
    return {
      enumerable: true,
      get: () => {
        reading ??= read();
        value ??= reading.then((greeting) => greeting[name]);
        // Whoever only looks at the field need not wait for it.
        value.catch(() => {});
        return value;
      },
    };
  };
  return Object.defineProperties(peer as Peer, { credentials: field("credentials"), metadata: field("metadata") });
}
