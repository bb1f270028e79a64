import { deferred } from "../deferred.js";
import { codeNumber } from "../codes.js";
import { RpcError } from "../errors.js";
import type { ClientSide, Prover, ProvingHost } from "../transport/prover.js";
import { isOfProof, readOfProof, writeOfProof } from "../wire/credentials.js";
import type { Frame } from "../wire/frame.js";
import { proofField, provesField } from "../wire/greeting.js";
import { NONCE_BYTES, writeStatement } from "../wire/proof.js";
import { algorithmOf, type ProofKeys, rawKey, sign, channelOf, signedBytes } from "./keys.js";

/**
 * Returns the value for the option `proof` of `connect`, `dial` and `createSession`: the client then proves to servers
 * that it has the private key. Each proof signs a nonce of one connection and is useless on another. Throws `TypeError`
 * if the keys cannot be used.
 */
export function prover(keys: ProofKeys): Prover {
  return new KeyProver(keys);
}

class KeyProver implements Prover {
  readonly fields: Uint8Array = provesField();
  readonly #keys: ProofKeys;
  readonly #sessions: WeakMap<object, SessionProof> = new WeakMap();

  constructor(keys: ProofKeys) {
    algorithmOf(keys.privateKey);
    algorithmOf(keys.publicKey);
    this.#keys = keys;
  }

  follow(session: ProvingHost, credentials: string | undefined, renewal: ClientSide | undefined): ClientSide {
    const proof = new SessionProof(this.#keys, session, credentials, renewal);
    this.#sessions.set(session, proof);
    return proof;
  }

  async prove(session: object, credentials: string): Promise<Uint8Array | undefined> {
    const proof = await this.#sessions.get(session)?.prove(credentials);
    return proof && proofField(proof);
  }

  async proven(session: object, signal?: AbortSignal): Promise<void> {
    await this.#sessions.get(session)?.proven(signal);
  }
}

/** Sends the proofs of one session. */
class SessionProof implements ClientSide {
  readonly #keys: ProofKeys;
  readonly #host: ProvingHost;
  readonly #credentials: string | undefined;
  readonly #renewal: ClientSide | undefined;
  readonly #accepted: { readonly promise: Promise<void>; readonly resolve: () => void } = deferred<void>();
  #isAccepted = false;
  /** Nonce of the server that the next proof must sign; undefined after its use. */
  #nonce: Uint8Array | undefined = undefined;

  constructor(keys: ProofKeys, host: ProvingHost, credentials: string | undefined, renewal: ClientSide | undefined) {
    this.#renewal = renewal;
    this.#keys = keys;
    this.#host = host;
    this.#credentials = credentials;
  }

  onFrame(frame: Frame): void {
    if (isOfProof(frame)) this.#onChallenge(frame);
    else this.#renewal?.onFrame(frame);
  }

  onUnauthenticated(): void {
    this.#renewal?.onUnauthenticated();
  }

  stop(): void {
    this.#renewal?.stop();
  }

  #onChallenge(frame: Frame): void {
    const nonce = readOfProof(frame);
    // A challenge of another protocol version. The server detects that no proof follows.
    if (nonce.length !== NONCE_BYTES) return;
    this.#nonce = nonce;
    // After the server has accepted the session, the nonce is for renewed credentials.
    if (!this.#isAccepted) void this.#answer();
  }

  onHello(): void {
    this.#isAccepted = true;
    this.#accepted.resolve();
  }

  async proven(signal: AbortSignal | undefined): Promise<void> {
    const { closed, limits, peer = "the server" } = this.#host;
    const timedOut = deferred<void>();
    const text = `${peer} has not let the session in within ${limits.maxHandshakeMs} ms (limits.maxHandshakeMs)`;
    const hint = "see what the server's authenticate waits for";
    const timer = setTimeout(
      () => timedOut.reject(new RpcError("deadline_exceeded", text, { refused: true, hint })),
      limits.maxHandshakeMs,
    );
    const onAbort = (): void => timedOut.reject(signal?.reason as Error);
    signal?.addEventListener("abort", onAbort);
    try {
      signal?.throwIfAborted();
      await Promise.race([this.#accepted.promise, closed, timedOut.promise]);
    } catch (error) {
      this.#host.close({ closeCode: codeNumber("cancelled"), reason: "the client does not wait any longer" });
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
    }
  }

  async prove(credentials: string | undefined): Promise<Uint8Array | undefined> {
    const nonce = this.#nonce;
    this.#nonce = undefined;
    if (nonce === undefined) return undefined;
    const { privateKey, publicKey } = this.#keys;
    const key = await rawKey(publicKey);
    const channel = await channelOf(this.#host.transport);
    const audience = this.#host.peer ?? "";
    const statement = writeStatement({ algorithm: algorithmOf(publicKey), key, channel, audience });
    const signature = await sign(privateKey, await signedBytes(nonce, credentials, statement));
    return Uint8Array.of(...statement, ...signature);
  }

  async #answer(): Promise<void> {
    try {
      const proof = await this.prove(this.#credentials);
      if (proof !== undefined) this.#host.openLane()?.sendCredentials((out) => writeOfProof(out, proof));
    } catch (error) {
      // If signing fails, the session is closed, because the server would otherwise wait until its time limit.
      const reason = `the client could not prove its key: ${(error as Error).message}`;
      this.#host.close({ closeCode: codeNumber("cancelled"), reason });
    }
  }
}
