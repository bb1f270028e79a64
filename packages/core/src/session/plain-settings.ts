import type { CarrierSettings } from "../call/carrier.js";
import { RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import { Metadata, type MetadataInit } from "../metadata.js";
import { MemoryBudget, type ServerBudget } from "../memory-budget.js";
import type { ClientSide, Prover, ProvingHost } from "../transport/prover.js";
import type { RawGreeting } from "../wire/hello.js";
import { encodeMetadata } from "../wire/metadata.js";
import type { CarrierOptions } from "./carrier-settings.js";
import type { Frame } from "../wire/frame.js";
import type { ClientRenewal } from "./client-renewal.js";

/** The first bytes of streams, and of this side's first lane. */
interface Opening {
  readonly prefix?: Uint8Array | undefined;
  readonly greeting?: RawGreeting | undefined;
}

/** The prefix of every session without one. */
const NO_PREFIX = /* @__PURE__ */ new Uint8Array(0);

/** How calls are carried in standard MessagePack, without compression. */
export function plainSettings(
  limits: ClientLimits,
  { prefix, greeting }: Opening,
  server?: ServerBudget,
): CarrierSettings {
  return {
    format: undefined,
    greeting,
    limits,
    budget: new MemoryBudget(limits.maxSessionBytes, "limits.maxSessionBytes", server),
    traffic: { extraCredit: 0 },
    prefix: prefix === undefined ? NO_PREFIX : prefix.slice(),
    compression: undefined,
  };
}

/** Maximum bytes of a greeting in addition to credentials and metadata. */
const GREETING_OVERHEAD = 512;

/** Options about what a client states about itself. */
interface SaidOptions {
  readonly credentials?: string | undefined;
  readonly metadata?: MetadataInit | undefined;
  readonly proof?: Pick<Prover, "fields"> | undefined;
  readonly renewCredentials?: CarrierOptions["renewCredentials"];
}

/**
 * Returns the part that answers the server's requests to this client, for new credentials and for a proof of its key;
 * undefined if it does neither.
 */
export function clientSideOf(
  { credentials, metadata, proof, renewCredentials: ask }: SaidOptions & Pick<CarrierOptions, "proof">,
  limits: ClientLimits,
): ((host: ProvingHost) => ClientSide) | undefined {
  const renewed = async (host: ProvingHost): Promise<RawGreeting | undefined> => {
    const credentials = await ask?.();
    if (credentials === undefined) return undefined;
    const fields = await proof?.prove(host, credentials);
    return greetingOf({ credentials, metadata, proof: fields && { fields } }, limits);
  };
  const renewal = ask && ((host: ProvingHost) => new LateRenewal(host, () => renewed(host)));
  return proof === undefined ? renewal : (host) => proof.follow(host, credentials, renewal?.(host));
}

/**
 * Returns the greeting of a session; undefined if it is empty. Throws `RpcError` if it is longer than servers accept.
 */
export function greetingOf(
  { credentials, metadata: given, proof, renewCredentials }: SaidOptions,
  { maxGreetingBytes }: ClientLimits,
): RawGreeting | undefined {
  if ((credentials ?? given ?? renewCredentials ?? proof) === undefined) return undefined;
  const metadata = encodeMetadata(Metadata.from(given), Infinity);
  const fields = proof?.fields;
  const bytes = new TextEncoder().encode(credentials).length + (metadata?.length ?? 0) + (fields?.length ?? 0);
  if (bytes + GREETING_OVERHEAD <= maxGreetingBytes) {
    return { credentials, metadata, fields, ...(renewCredentials !== undefined && { renews: true }) };
  }
  const text = `credentials and metadata of ${bytes} bytes do not fit a greeting of ${maxGreetingBytes} (limits.maxGreetingBytes)`;
  throw new RpcError("invalid_argument", text);
}

/** Loads the code that renews credentials when a server has announced that it accepts new ones, so that other pages do not contain it. */
class LateRenewal implements ClientSide {
  readonly #host: Pick<ProvingHost, "openLane">;
  readonly #ask: () => Promise<RawGreeting | undefined>;
  #renewal: Promise<ClientRenewal> | undefined = undefined;
  #over = false;

  constructor(host: Pick<ProvingHost, "openLane">, ask: () => Promise<RawGreeting | undefined>) {
    this.#host = host;
    this.#ask = ask;
  }

  onFrame(frame: Frame): void {
    // A copy, because the bytes are only borrowed.
    const kept = { ...frame, bytes: frame.bytes.slice() };
    this.#renewal ??= import("./loaded-later.js").then(({ ClientRenewal }) => new ClientRenewal(this.#host, this.#ask));
    this.#withRenewal((renewal) => renewal.onFrame(kept));
  }

  onUnauthenticated(): void {
    this.#withRenewal((renewal) => renewal.onUnauthenticated());
  }

  stop(): void {
    this.#over = true;
    this.#withRenewal((renewal) => renewal.stop());
  }

  /** If the module cannot be loaded, the session ends when its credentials expire. */
  #withRenewal(use: (renewal: ClientRenewal) => void): void {
    this.#renewal?.then(
      (renewal) => {
        if (this.#over) renewal.stop();
        else use(renewal);
      },
      () => {},
    );
  }
}
