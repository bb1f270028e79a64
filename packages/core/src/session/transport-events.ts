import type { Callee } from "../call/carrier.js";
import type { CloseInfo, DirectSessionHandler, DirectStream } from "../transport/session.js";

/** Takes the streams that the peer opens. */
export interface StreamTaker {
  accept(stream: DirectStream): void;
}

/** The session, as far as what happens on its transport concerns it. */
export interface EventsHost {
  readonly callee: Callee;
  /** Calls that are not over. */
  callsMade(): number;
  /** The transport's session has ended. */
  onEnded(info: CloseInfo, error: Error | undefined): void;
}

/** Takes what happens on the transport of a session. */
export class TransportEvents implements DirectSessionHandler {
  readonly host: EventsHost;
  readonly #streams: StreamTaker;

  constructor(host: EventsHost, streams: StreamTaker) {
    this.host = host;
    this.#streams = streams;
  }

  onStream(stream: DirectStream): void {
    this.#streams.accept(stream);
  }

  waits(): boolean {
    return this.host.callsMade() > 0;
  }

  onClosed(info: CloseInfo, error: Error | undefined): void {
    this.host.onEnded(info, error);
  }
}

/** The same where datagrams are served. A transport leaves them alone where nothing takes them. */
export class EventsWithDatagrams extends TransportEvents {
  onDatagram(bytes: Uint8Array): void {
    this.host.callee.onDatagram?.(bytes);
  }
}
