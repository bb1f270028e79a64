import type { X509Certificate } from "node:crypto";
import type { Proof } from "@quicrpc/core/proof";
import { type Limits, type Metadata, RpcError } from "@quicrpc/core";
import {
  type Greeting,
  type GreetingOptions,
  receiveGreeting,
  type RenewedGreeting,
  type TransportSession,
} from "@quicrpc/core/transport";
import type { Arrival, ArrivingPeer } from "./listen/listener.js";
import type { Peer, TransportKind } from "./peer.js";

/** Bytes that a transport puts around a greeting, such as the head of a WebSocket message. */
const FRAMING = 4096;

/** A peer whose greeting is kept until it has been decided about. */
interface PeerInDecision {
  readonly peer: Peer;
  /** Releases the greeting: sessions are many, and what proves who a client is need not stay in memory. */
  readonly forget: () => void;
}

/** The peer of an arrival, whose greeting is read when somebody asks for it; otherwise it stays unread until the session begins. */
export function greetedPeer(arrival: Arrival, limits: Limits, prefix: Uint8Array | undefined): PeerInDecision {
  const said = new Said(arrival, limits, prefix);
  return { peer: new GreetedPeer(arrival.peer, said), forget: () => said.forget() };
}

/** What a client says ahead of its session, read when somebody asks for it, until it is forgotten. */
class Said {
  #arrival: Pick<Arrival, "transport" | "visit"> | undefined;
  readonly #limits: Limits;
  readonly #prefix: Uint8Array | undefined;
  #reading: Promise<Greeting> | undefined = undefined;
  #proving: Promise<Proof | undefined> | undefined = undefined;

  constructor(arrival: Arrival, limits: Limits, prefix: Uint8Array | undefined) {
    this.#arrival = arrival;
    this.#limits = limits;
    this.#prefix = prefix;
  }

  greeting(): Promise<Greeting> {
    return (this.#reading ??= this.#read());
  }

  proof(): Promise<Proof | undefined> {
    return (this.#proving ??= this.#prove());
  }

  forget(): void {
    this.#arrival = undefined;
    this.#reading = undefined;
    this.#proving = undefined;
  }

  async #read(): Promise<Greeting> {
    const { transport, visit } = this.#undecided();
    const greeting = receiveGreeting(transport, this.#options());
    visit.greet?.(this.#limits.maxGreetingBytes + FRAMING);
    return greeting;
  }

  async #prove(): Promise<Proof | undefined> {
    await this.greeting();
    this.#undecided();
    const { receiveProof } = await import("@quicrpc/core/proof");
    const { transport, visit } = this.#undecided();
    const proof = receiveProof(transport, this.#options());
    visit.greet?.(this.#limits.maxGreetingBytes + FRAMING);
    return proof;
  }

  #options(): GreetingOptions {
    const limits = this.#limits;
    const timeoutMs = Math.min(this.#undecided().visit.remainingMs, limits.maxHandshakeMs / 2);
    return { limits, timeoutMs, ...(this.#prefix !== undefined && { prefix: this.#prefix }) };
  }

  #undecided(): Pick<Arrival, "transport" | "visit"> {
    if (this.#arrival === undefined) throw tooLate();
    return this.#arrival;
  }
}

// A class: an object with getters of its own gets a shape of its own from V8, for as long as the session lasts.
class GreetedPeer implements Peer {
  readonly transport: TransportKind;
  readonly listener: string;
  readonly remoteAddress: Peer["remoteAddress"];
  readonly path: string | undefined;
  readonly origin: string | undefined;
  readonly earlyData: boolean;
  readonly #arrived: ArrivingPeer;
  readonly #said: Said;

  constructor(arrived: ArrivingPeer, said: Said) {
    this.transport = arrived.transport;
    this.listener = arrived.listener;
    this.remoteAddress = arrived.remoteAddress;
    this.path = arrived.path;
    this.origin = arrived.origin;
    this.earlyData = arrived.earlyData;
    this.#arrived = arrived;
    this.#said = said;
  }

  get headers(): Headers {
    return this.#arrived.headers;
  }

  get certificate(): X509Certificate | undefined {
    return this.#arrived.certificate;
  }

  get handshake(): Promise<void> {
    return this.#arrived.handshake;
  }

  get credentials(): Promise<string | undefined> {
    return looked(this.#said.greeting().then(({ credentials }) => credentials));
  }

  get metadata(): Promise<Metadata> {
    return looked(this.#said.greeting().then(({ metadata }) => metadata));
  }

  get proof(): Promise<Proof | undefined> {
    return looked(this.#said.proof());
  }
}

/** `value`, which whoever only looks at it need not wait for. */
function looked<T>(value: Promise<T>): Promise<T> {
  value.catch(() => {});
  return value;
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
  return {
    ...renewed,
    get proof() {
      return looked((proving ??= prove()));
    },
  };
}

function tooLate(): RpcError {
  const text = "the client's greeting is kept until authenticate has decided";
  return new RpcError("failed_precondition", text, { hint: "put what is needed later into what authenticate returns" });
}
