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

/** The prefix of all streams, and the session data that this side's first lane sends. */
interface Opening {
  readonly prefix?: Uint8Array | undefined;
  readonly greeting?: RawGreeting | undefined;
}

const NO_PREFIX = /* @__PURE__ */ new Uint8Array(0);

/** Returns the settings of a session that uses standard MessagePack without compression. */
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

/**
 * Maximum size in bytes of a greeting without its credentials and metadata. A greeting is the session data that a
 * client sends first.
 */
const GREETING_OVERHEAD = 512;

interface SaidOptions {
  readonly credentials?: string | undefined;
  readonly metadata?: MetadataInit | undefined;
  readonly proof?: Pick<Prover, "fields"> | undefined;
  readonly renewCredentials?: CarrierOptions["renewCredentials"];
}

/**
 * Returns the function that creates the handler of the server's requests for new credentials and for a proof of the
 * client's key. Undefined if the client supports neither.
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
 * Returns the greeting of a session: the client's credentials, metadata and proof fields. Undefined if it is empty.
 * Throws `RpcError` `invalid_argument` if it exceeds `limits.maxGreetingBytes`.
 */
export function greetingOf(
  { credentials, metadata: metadataInit, proof, renewCredentials }: SaidOptions,
  { maxGreetingBytes }: ClientLimits,
): RawGreeting | undefined {
  if ((credentials ?? metadataInit ?? renewCredentials ?? proof) === undefined) return undefined;
  const metadata = encodeMetadata(Metadata.from(metadataInit), Infinity);
  const fields = proof?.fields;
  const bytes = new TextEncoder().encode(credentials).length + (metadata?.length ?? 0) + (fields?.length ?? 0);
  if (bytes + GREETING_OVERHEAD <= maxGreetingBytes) {
    return { credentials, metadata, fields, ...(renewCredentials !== undefined && { renews: true }) };
  }
  const text = `credentials and metadata of ${bytes} bytes do not fit a greeting of ${maxGreetingBytes} (limits.maxGreetingBytes)`;
  throw new RpcError("invalid_argument", text);
}

/**
 * Loads the code that renews credentials when the server has announced that it accepts new ones, so that page bundles
 * stay small.
 */
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
    // A copy, because the bytes are valid only during this call.
    const copy = { ...frame, bytes: frame.bytes.slice() };
    this.#renewal ??= import("./loaded-later.js").then(({ ClientRenewal }) => new ClientRenewal(this.#host, this.#ask));
    this.#withRenewal((renewal) => renewal.onFrame(copy));
  }

  onUnauthenticated(): void {
    this.#withRenewal((renewal) => renewal.onUnauthenticated());
  }

  stop(): void {
    this.#over = true;
    this.#withRenewal((renewal) => renewal.stop());
  }

  /** Calls `use` when the module is loaded. If it cannot be loaded, the session ends when its credentials expire. */
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
