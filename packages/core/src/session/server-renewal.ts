import type { PeerLane } from "../call/lanes/peer-lane.js";
import { ProtocolError } from "../errors.js";
import type { Limits } from "../limits.js";
import { decodeMetadata } from "../wire/metadata.js";
import type { Frame } from "../wire/frame.js";
import type { FrameWriter } from "../wire/writer.js";
import {
  type CredentialsNotice,
  isOfProof,
  MIN_RENEWAL_INTERVAL_MS,
  readRenewal,
  writeNotice,
  writeOfProof,
} from "../wire/credentials.js";
import type { HelloFrame } from "../wire/hello.js";
import { newNonce, type ProofClaim } from "../wire/proof.js";
import type { Greeting } from "../transport/greeting.js";
import type { ProvingHost } from "../transport/prover.js";
import type { DrainOptions } from "./options.js";

/** Default time that a client has to send demanded credentials, in milliseconds. */
const DEFAULT_WITHIN_MS = 10_000;

/**
 * Minimum interval between two calls of `renew`, in milliseconds. Credentials that arrive earlier wait, so that a
 * client cannot keep the server busy.
 */
const PACE_MS = 250;

export interface RenewedConnection<Context> {
  /** Value of `context.connection` in the handlers of later calls. */
  readonly connection: Context;
  /** Expiry of the credentials, in milliseconds since the Unix epoch; undefined if they do not expire. */
  readonly expiresAt?: number | undefined;
}

export interface RenewedGreeting extends Greeting {
  /**
   * The client's unverified proof that it has its key; pass it to `verifyProof` of `@quicrpc/core/proof`. Absent if the
   * client sent none.
   */
  readonly claim?: ProofClaim;
}

export interface RenewalOptions<Context> {
  /**
   * Expiry of the first credentials of the session, in milliseconds since the Unix epoch. Default: they do not expire.
   */
  readonly expiresAt?: number | undefined;
  /**
   * Verifies new credentials and returns the new connection value. If it rejects, because the credentials are invalid
   * or of another user, or takes longer than `limits.maxHandshakeMs`, the session is drained.
   */
  readonly renew: (greeting: RenewedGreeting) => Promise<RenewedConnection<Context>>;
}

export interface DemandOptions {
  /**
   * Time that the client has to send new credentials, in milliseconds. Clients choose a random moment in the first half
   * of it. Clients renew at most once in 5 seconds, so the time starts 5 seconds after the end of the last renewal if
   * that is later. Default 10,000.
   */
  readonly withinMs?: number;
}

export interface ServerRenewalHost extends Pick<ProvingHost, "openLane"> {
  identify(connection: unknown): void;
  drain(options?: DrainOptions): unknown;
  readonly limits: Pick<Limits, "maxGreetingBytes" | "maxHandshakeMs">;
}

/** Handles the renewal of a client's credentials on the server. */
export class ServerRenewal {
  readonly #host: ServerRenewalHost;
  readonly #options: RenewalOptions<unknown>;
  #expiresAt: number | undefined;
  /** Lane (shared stream) on which the client has announced that it can renew its credentials; undefined before. */
  #lane: PeerLane | undefined = undefined;
  /** Nonce that the next proof of the client must contain; undefined if the client sends no proofs. */
  #nonce: Uint8Array | undefined = undefined;
  #proves = false;
  #deciding = false;
  /**
   * Time in milliseconds that the client has to send demanded credentials. Undefined if none were demanded since the
   * last call of `renew`.
   */
  #wantedWithinMs: number | undefined = undefined;
  #decidedAt: number = Number.NEGATIVE_INFINITY;
  /** Earliest time of the client's next renewal, in milliseconds of `performance.now()`. */
  #nextAt: number = Number.NEGATIVE_INFINITY;
  #paced: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Timer that drains the session if demanded credentials do not arrive, or `renew` does not settle, in time. */
  #deadline: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(host: ServerRenewalHost, options: RenewalOptions<unknown>) {
    this.#host = host;
    this.#options = options;
    this.#expiresAt = options.expiresAt;
  }

  /** Called when the client has announced that it can renew its credentials. Tells the client when they expire. */
  onHello(lane: PeerLane, { proves = false }: Pick<HelloFrame, "proves">): void {
    if (this.#lane !== undefined) return;
    this.#lane = lane;
    this.#proves = proves;
    this.#challenge();
    this.#tellExpiry();
  }

  /**
   * Asks the client for new credentials. If none arrive within `withinMs`, the session is drained, and the client's
   * next session starts with new credentials.
   */
  demand({ withinMs = DEFAULT_WITHIN_MS }: DemandOptions = {}): void {
    this.#wantedWithinMs = withinMs;
    if (this.#lane === undefined) this.#host.drain();
    // A client sends no credentials while the server decides about earlier ones.
    else if (!this.#deciding) this.#want(withinMs);
  }

  onFrame(frame: Frame): void {
    // The proof was already read before the session was created.
    if (isOfProof(frame)) return;
    if (this.#lane === undefined || this.#deciding) throw new ProtocolError("credentials that were not requested");
    if (frame.end - frame.start > this.#host.limits.maxGreetingBytes) {
      throw new ProtocolError("credentials longer than a greeting may be (limits.maxGreetingBytes)");
    }
    const { credentials, metadata, proof } = readRenewal(frame);
    const nonce = this.#nonce;
    // A nonce is valid for one proof.
    this.#nonce = undefined;
    const claim = proof && nonce && { proof, nonce };
    const greeting: RenewedGreeting = { credentials, metadata: decodeMetadata(metadata), ...(claim && { claim }) };
    this.#deciding = true;
    // The client has sent credentials. A demand before the decision does not change this deadline.
    this.#drainIn(this.#host.limits.maxHandshakeMs);
    const waitMs = this.#decidedAt + PACE_MS - Date.now();
    if (waitMs <= 0) void this.#decide(greeting);
    else this.#paced = setTimeout(() => void this.#decide(greeting), Math.min(waitMs, PACE_MS));
  }

  stop(): void {
    clearTimeout(this.#deadline);
    clearTimeout(this.#paced);
  }

  async #decide(greeting: RenewedGreeting): Promise<void> {
    this.#decidedAt = Date.now();
    this.#wantedWithinMs = undefined;
    try {
      const { connection, expiresAt } = await this.#options.renew(greeting);
      this.#deciding = false;
      this.#nextAt = performance.now() + MIN_RENEWAL_INTERVAL_MS;
      clearTimeout(this.#deadline);
      this.#expiresAt = expiresAt;
      this.#host.identify(connection);
      this.#challenge();
      this.#tellExpiry();
      // Credentials were demanded while `renew` was running, which may have used older information.
      if (this.#wantedWithinMs !== undefined) this.#want(this.#wantedWithinMs);
    } catch {
      clearTimeout(this.#deadline);
      // The client's next session starts with credentials, and the server can refuse it with the reason.
      this.#host.drain();
    }
  }

  #want(withinMs: number): void {
    this.#tell({ kind: "wanted", withinMs: Math.floor(withinMs / 2) });
    const restMs = Math.max(0, this.#nextAt - performance.now());
    this.#drainIn(restMs + withinMs);
  }

  #drainIn(ms: number): void {
    clearTimeout(this.#deadline);
    this.#deadline = setTimeout(() => this.#host.drain(), ms);
    (this.#deadline as { unref?(): void }).unref?.();
  }

  #tellExpiry(): void {
    const expiresAt = this.#expiresAt;
    const leftMs = expiresAt === undefined ? undefined : Math.max(0, Math.floor(expiresAt - Date.now()));
    this.#tell({ kind: "valid", leftMs });
  }

  /** Sends the nonce for the next proof. Called before the frame that makes the client renew its credentials. */
  #challenge(): void {
    if (!this.#proves) return;
    const nonce = newNonce();
    this.#nonce = nonce;
    this.#send((out) => writeOfProof(out, nonce));
  }

  #tell(notice: CredentialsNotice): void {
    this.#send((out) => writeNotice(out, notice));
  }

  #send(write: (out: FrameWriter) => void): void {
    const lane = this.#lane?.ended === false ? this.#lane : this.#host.openLane();
    lane?.sendCredentials(write);
  }
}
