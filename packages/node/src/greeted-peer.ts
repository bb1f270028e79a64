import type { Proof } from "@quicrpc/core/proof";
import { type Limits, type Metadata, RpcError } from "@quicrpc/core";
import type { RenewedGreeting } from "@quicrpc/core/internal";
import { type Greeting, type GreetingOptions, receiveGreeting, type TransportSession } from "@quicrpc/core/transport";
import type { IncomingSession, IncomingPeer } from "./listen/listener.js";
import type { Peer } from "./peer.js";

/** Maximum number of bytes that a transport adds to a greeting, for example for a WebSocket frame header. */
const FRAMING = 4096;

/** A peer whose greeting stays in memory until the server accepts or refuses the session. */
interface PeerBeforeDecision {
  readonly peer: Peer;
  /** Releases the greeting from memory, so that the server does not keep credentials for every open session. */
  readonly releaseGreeting: () => void;
}

/**
 * Returns the peer of an incoming session. The greeting is read when the application first uses it, or when the session
 * starts.
 */
export function greetedPeer(
  incoming: IncomingSession,
  limits: Limits,
  prefix: Uint8Array | undefined,
): PeerBeforeDecision {
  const greeting = new UnreadGreeting(incoming, limits, prefix);
  return { peer: new PeerWithGreeting(incoming.peer, greeting), releaseGreeting: () => greeting.release() };
}

export function renewedPeer(peer: Peer, greeting: RenewedGreeting, transport: TransportSession): Peer {
  return new PeerWithGreeting(peer, new RenewedClaims(greeting, transport));
}

/** Values that a client states about itself in its greeting. */
type Claims = Pick<Peer, "credentials" | "metadata" | "proof">;

/**
 * A peer together with its greeting. This is a class because V8 allocates the getters of an object literal in the old
 * generation, where they would keep the session alive across young collections.
 */
class PeerWithGreeting implements Peer {
  readonly transport: Peer["transport"];
  readonly listener: string;
  readonly remoteAddress: Peer["remoteAddress"];
  readonly path: string | undefined;
  readonly origin: string | undefined;
  readonly earlyData: boolean;
  readonly #arriving: IncomingPeer;
  readonly #claims: Claims;

  constructor(arriving: IncomingPeer, claims: Claims) {
    this.transport = arriving.transport;
    this.listener = arriving.listener;
    this.remoteAddress = arriving.remoteAddress;
    this.path = arriving.path;
    this.origin = arriving.origin;
    this.earlyData = arriving.earlyData;
    this.#arriving = arriving;
    this.#claims = claims;
  }

  get headers(): Headers {
    return this.#arriving.headers;
  }

  get certificate(): Peer["certificate"] {
    return this.#arriving.certificate;
  }

  get handshake(): Promise<void> {
    return this.#arriving.handshake;
  }

  get credentials(): Promise<string | undefined> {
    return markHandled(this.#claims.credentials);
  }

  get metadata(): Promise<Metadata> {
    return markHandled(this.#claims.metadata);
  }

  get proof(): Promise<Proof | undefined> {
    return markHandled(this.#claims.proof);
  }
}

class UnreadGreeting implements Claims {
  /** The incoming session, or undefined after `release`. */
  #incoming: Pick<IncomingSession, "transport" | "pending"> | undefined;
  readonly #limits: Limits;
  readonly #prefix: Uint8Array | undefined;
  #reading: Promise<Greeting> | undefined = undefined;
  #proving: Promise<Proof | undefined> | undefined = undefined;

  constructor(incoming: IncomingSession, limits: Limits, prefix: Uint8Array | undefined) {
    this.#incoming = incoming;
    this.#limits = limits;
    this.#prefix = prefix;
  }

  get credentials(): Promise<string | undefined> {
    return this.#greeting().then(({ credentials }) => credentials);
  }

  get metadata(): Promise<Metadata> {
    return this.#greeting().then(({ metadata }) => metadata);
  }

  get proof(): Promise<Proof | undefined> {
    return (this.#proving ??= this.#prove());
  }

  release(): void {
    this.#incoming = undefined;
    this.#reading = undefined;
    this.#proving = undefined;
  }

  #greeting(): Promise<Greeting> {
    return (this.#reading ??= this.#read());
  }

  async #read(): Promise<Greeting> {
    const { transport, pending } = this.#undecided();
    const greeting = receiveGreeting(transport, this.#options(pending));
    pending.greet?.(this.#limits.maxGreetingBytes + FRAMING);
    return greeting;
  }

  async #prove(): Promise<Proof | undefined> {
    await this.#greeting();
    this.#undecided();
    const { receiveProof } = await import("@quicrpc/core/proof");
    const { transport, pending } = this.#undecided();
    const proof = receiveProof(transport, this.#options(pending));
    pending.greet?.(this.#limits.maxGreetingBytes + FRAMING);
    return proof;
  }

  #undecided(): Pick<IncomingSession, "transport" | "pending"> {
    if (this.#incoming === undefined) throw greetingDiscarded();
    return this.#incoming;
  }

  #options(pending: IncomingSession["pending"]): GreetingOptions {
    return {
      limits: this.#limits,
      timeoutMs: Math.min(pending.remainingMs, this.#limits.maxHandshakeMs / 2),
      ...(this.#prefix !== undefined && { prefix: this.#prefix }),
    };
  }
}

class RenewedClaims implements Claims {
  readonly credentials: Promise<string | undefined>;
  readonly metadata: Promise<Metadata>;
  readonly #prove: () => Promise<Proof | undefined>;
  #proving: Promise<Proof | undefined> | undefined = undefined;

  constructor({ credentials, metadata, claim }: RenewedGreeting, transport: TransportSession) {
    this.credentials = Promise.resolve(credentials);
    this.metadata = Promise.resolve(metadata);
    const prove = async (): Promise<Proof | undefined> => {
      if (claim === undefined) return undefined;
      const { verifyProof } = await import("@quicrpc/core/proof");
      return verifyProof(claim, credentials, transport);
    };
    this.#prove = prove;
  }

  get proof(): Promise<Proof | undefined> {
    return (this.#proving ??= this.#prove());
  }
}

/** Returns the promise unchanged, and prevents an unhandled rejection if nothing awaits the promise. */
function markHandled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

function greetingDiscarded(): RpcError {
  const text = "the client's greeting is only available until `authenticate` has decided";
  return new RpcError("failed_precondition", text, { hint: "return the values needed later from `authenticate`" });
}
