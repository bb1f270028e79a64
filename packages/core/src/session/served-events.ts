import { codeNumber } from "../codes.js";
import type { RpcError } from "../errors.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { LoadMember, LoadPlace, ServerLoad } from "../server/server-load.js";
import type { CloseInfo, DirectSessionHandler, DirectStream, TransportSession } from "../transport/session.js";
import type { StreamSession } from "./stream-session.js";

/** Takes what happens on the transport of such a session, datagrams too, and is its place in the load of the server. */
export class ServedEvents implements DirectSessionHandler, LoadMember {
  readonly #session: StreamSession<TransportSession>;
  readonly #load: ServerLoad | undefined;
  readonly #place: LoadPlace | undefined;

  constructor(session: StreamSession<TransportSession>, load: ServerLoad | undefined) {
    this.#session = session;
    this.#load = load;
    this.#place = load?.add(this);
  }

  get budget(): MemoryBudget {
    return this.#session.budget;
  }

  onEvicted({ code, message }: RpcError): void {
    this.#session.direct.close({ closeCode: codeNumber(code), reason: message });
  }

  onStream(stream: DirectStream): void {
    this.#session.onStream(stream);
  }

  onDatagram(bytes: Uint8Array): void {
    this.#session.callee.onDatagram?.(bytes);
  }

  waits(): boolean {
    return this.#session.waits();
  }

  onClosed(info: CloseInfo, error: Error | undefined): void {
    if (this.#place !== undefined) this.#load?.remove(this.#place);
    this.#session.onClosed(info, error);
  }
}
