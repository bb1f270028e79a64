import type { Callee } from "../call/carrier.js";
import { codeNumber } from "../codes.js";
import type { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { LoadMember, LoadPlace, ServerLoad } from "../server/server-load.js";
import type { CloseInfo, DirectSession, DirectSessionHandler, DirectStream } from "../transport/session.js";

/** A session that serves its peer's calls. */
export interface ServedHost extends DirectSessionHandler {
  readonly direct: DirectSession;
  readonly callee: Callee;
  readonly budget: MemoryBudget;
  waits(): boolean;
}

/** Takes what happens on the transport of such a session, datagrams too, and is its place in the load of the server. */
export class ServedEvents implements DirectSessionHandler, LoadMember {
  readonly #host: ServedHost;
  readonly #load: ServerLoad | undefined;
  readonly #place: LoadPlace | undefined;

  constructor(host: ServedHost, load: ServerLoad | undefined) {
    this.#host = host;
    this.#load = load;
    this.#place = load?.add(this);
  }

  get budget(): MemoryBudget {
    return this.#host.budget;
  }

  onEvicted({ code, message }: RpcError): void {
    this.#host.direct.close({ closeCode: codeNumber(code), reason: message });
  }

  onStream(stream: DirectStream): void {
    this.#host.onStream(stream);
  }

  onDatagram(bytes: Uint8Array): void {
    this.#host.callee.onDatagram?.(bytes);
  }

  waits(): boolean {
    return this.#host.waits();
  }

  onClosed(info: CloseInfo, error: Error | undefined): void {
    if (this.#place !== undefined) this.#load?.remove(this.#place);
    this.#host.onClosed(info, error);
  }
}
