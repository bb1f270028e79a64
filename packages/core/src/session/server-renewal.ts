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
import type { Hello } from "../wire/hello.js";
import { newNonce, type ProofClaim } from "../wire/proof.js";
import type { Greeting } from "../transport/greeting.js";
import type { ProvingHost } from "../transport/prover.js";
import type { DrainOptions } from "./options.js";

/** Default milliseconds that a client has to send requested credentials. */
const DEFAULT_WITHIN_MS = 10_000;

/**
 * Minimum milliseconds between the starts of two decisions. Credentials that arrive earlier wait, so that a client
 * cannot keep the server busy.
 */
const PACE_MS = 250;

/** The connection value of a client after it has renewed its credentials. */
export interface RenewedConnection<Context> {
  /** Value of `context.connection` in the handlers of calls that begin from now on. */
  readonly connection: Context;
  /** When it expires, in milliseconds since the epoch; undefined: never. */
  readonly expiresAt?: number | undefined;
}

/** A client's new credentials and metadata. */
export interface RenewedGreeting extends Greeting {
  /**
   * The client's claim that it has its key, not yet verified: see `verifyProof` of `@quicrpc/core/proof`. Absent if it
   * sent none.
   */
  readonly claim?: ProofClaim;
}

/** Options with which a server accepts new credentials of its client during a session. */
export interface RenewalOptions<Context> {
  /**
   * Time at which the credentials of the session's beginning expire, in milliseconds since the epoch. Default: they do
   * not expire.
   */
  readonly expiresAt?: number | undefined;
  /**
   * Decides about new credentials within `limits.maxHandshakeMs`. If it rejects, because they are invalid or belong to
   * another subject, or takes longer, the session drains.
   */
  readonly renew: (greeting: RenewedGreeting) => Promise<RenewedConnection<Context>>;
}

/** Options of `Session.demandCredentials`. */
export interface DemandOptions {
  /**
   * Milliseconds that the client has to answer; clients spread over the first half. If the client's last renewal was decided
   * less than 5 seconds ago, or still is to be, the time begins 5 seconds after the decision, because clients renew no more
   * often. Default 10,000.
   */
  readonly withinMs?: number;
}

/** The session, as far as the renewal of its identity needs it. */
export interface ServerRenewalHost extends Pick<ProvingHost, "openLane"> {
  identify(connection: unknown): void;
  drain(options?: DrainOptions): unknown;
  readonly limits: Pick<Limits, "maxGreetingBytes" | "maxHandshakeMs">;
}

/** The server's side of a session whose client can renew its credentials. */
export class ServerRenewal {
  readonly #host: ServerRenewalHost;
  readonly #options: RenewalOptions<unknown>;
  #expiresAt: number | undefined;
  /** Lane on which the client announced that it renews credentials. */
  #lane: PeerLane | undefined = undefined;
  /** The nonce that the client's next proof must contain; undefined if the client sends no proofs. */
  #nonce: Uint8Array | undefined = undefined;
  #proves = false;
  #deciding = false;
  /** Time that the client has to answer a demand; undefined unless credentials were demanded since the last decision began. */
  #wantedWithinMs: number | undefined = undefined;
  #decidedAt: number = Number.NEGATIVE_INFINITY;
  /** Earliest time at which the client renews again, by the clock that is never set. */
  #nextAt: number = Number.NEGATIVE_INFINITY;
  #paced: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Drains the session when the client has not answered a demand in time, or the server has not decided in time. */
  #deadline: ReturnType<typeof setTimeout> | undefined = undefined;

  constructor(host: ServerRenewalHost, options: RenewalOptions<unknown>) {
    this.#host = host;
    this.#options = options;
    this.#expiresAt = options.expiresAt;
  }

  /** The client renews its credentials, if it knows when. */
  onHello(lane: PeerLane, { proves = false }: Pick<Hello, "proves">): void {
    if (this.#lane !== undefined) return;
    this.#lane = lane;
    this.#proves = proves;
    this.#challenge();
    this.#tellExpiry();
  }

  /** Requests credentials. If none arrive in time, the session drains, and the client's next one starts with new ones. */
  demand({ withinMs = DEFAULT_WITHIN_MS }: DemandOptions = {}): void {
    this.#wantedWithinMs = withinMs;
    if (this.#lane === undefined) this.#host.drain();
    // A client sends nothing until the decision in progress has come.
    else if (!this.#deciding) this.#want(withinMs);
  }

  onFrame(frame: Frame): void {
    // A proof was read before there was a session.
    if (isOfProof(frame)) return;
    if (this.#lane === undefined || this.#deciding) throw new ProtocolError("credentials that were not requested");
    if (frame.end - frame.start > this.#host.limits.maxGreetingBytes) {
      throw new ProtocolError("credentials longer than a greeting may be (limits.maxGreetingBytes)");
    }
    const { credentials, metadata, proof } = readRenewal(frame);
    const nonce = this.#nonce;
    // Each is answered once.
    this.#nonce = undefined;
    const claim = proof && nonce && { proof, nonce };
    const greeting: RenewedGreeting = { credentials, metadata: decodeMetadata(metadata), ...(claim && { claim }) };
    this.#deciding = true;
    // The client has answered. A demand that comes before the decision leaves this deadline as it is.
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
      // They were requested while this decision was in progress, which may be based on older information.
      if (this.#wantedWithinMs !== undefined) this.#want(this.#wantedWithinMs);
    } catch {
      clearTimeout(this.#deadline);
      // The next session begins with credentials, and is refused for the reason.
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

  /** Sends the nonce for the next proof, before the request that makes the client renew its credentials. */
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
