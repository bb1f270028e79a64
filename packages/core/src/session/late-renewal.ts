import type { ClientSide, ProvingHost } from "../transport/prover.js";
import type { Frame } from "../wire/frame.js";
import type { RawGreeting } from "../wire/hello.js";
import type { ClientRenewal } from "./client-renewal.js";

/** Loads the code that renews credentials when a server has announced that it accepts new ones, so that other pages do not contain it. */
export class LateRenewal implements ClientSide {
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
