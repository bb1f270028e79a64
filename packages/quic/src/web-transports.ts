import type { Datagrams } from "./datagrams.js";
import type { Engine } from "./engine.js";
import type { QuicError } from "./errors.js";
import { unwrap } from "./native.js";
import { packHandle } from "./handles.js";
import { WEB_TRANSPORT } from "./native-layout.js";
import type { QuicSession } from "./session.js";
import type { SocketAddress } from "./session-handler.js";
import {
  checkAnswer,
  decodeFields,
  encodeFields,
  type WebTransportResponse,
  type WebTransportRequest,
} from "./web-transport-request.js";
import { WebTransportSession } from "./web-transport-session.js";

/** A client's request for a WebTransport session, in the form that the native engine expects. */
export interface SessionRequestHandler {
  readonly authority: string;
  readonly path: string;
  readonly protocols: string;
  readonly fields: string;
  readonly datagrams: Datagrams | undefined;
  granted(session: WebTransportSession): void;
  failed(error: QuicError): void;
}

/** Table entry of a WebTransport session, or of a request for one. */
interface Slot {
  readonly handle: number;
  session?: WebTransportSession;
  /** Request of this client, until the session exists. */
  clientRequest?: SessionRequestHandler | undefined;
  /** Request that this server received, until the session exists. */
  request?: AskedRequest | undefined;
}

/** WebTransport sessions of an endpoint, and the requests for them. */
export class WebTransports {
  onRequest: ((request: WebTransportRequest) => WebTransportResponse | Promise<WebTransportResponse>) | undefined =
    undefined;
  readonly #engine: Engine;
  readonly #slots: (Slot | undefined)[] = [];

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  session(index: number): WebTransportSession | undefined {
    return this.#slots[index - WEB_TRANSPORT]?.session;
  }

  /** Requests a session on an HTTP/3 connection. Returns a function that aborts the attempt. Only for clients. */
  requestSession(carrier: QuicSession, request: SessionRequestHandler): () => void {
    const { native } = this.#engine;
    const { authority, path, protocols, fields } = request;
    const handle = unwrap(native.askSession(carrier.handle, authority, path, protocols, fields));
    this.#engine.kick();
    this.#slots[(handle % 2 ** 24) - WEB_TRANSPORT] = { handle, clientRequest: request };
    return () => {
      this.#engine.kick();
      native.closeSession(handle, 0, new Uint8Array(0));
    };
  }

  /** Creates the session after the server has accepted this client's request. */
  granted(index: number): void {
    const slot = this.#slots[index - WEB_TRANSPORT];
    if (slot?.clientRequest === undefined) return;
    const [protocol, fields] = this.#engine.native.sessionAnswer(slot.handle) ?? ["", []];
    const { clientRequest } = slot;
    const { authority, path, datagrams } = clientRequest;
    const opening = { authority, path, protocol, headers: decodeFields(fields) };
    slot.session = new WebTransportSession(this.#engine, slot.handle, opening, datagrams);
    slot.clientRequest = undefined;
    clientRequest.granted(slot.session);
  }

  onRequested(index: number, generation: number): void {
    const engine = this.#engine;
    const handle = packHandle(index, generation);
    const [authority, path, protocols, flat] = engine.native.sessionRequest(handle) ?? ["", "", [], []];
    const [[host, port, family] = ["", 0, "IPv4"] as const] = engine.native.sessionInfo(handle) ?? [];
    const request = new AskedRequest(authority, path, protocols, decodeFields(flat), { host, port, family });
    const slot: Slot = { handle, request };
    this.#slots[index - WEB_TRANSPORT] = slot;
    const refuse = (error: unknown): void => {
      if (this.#awaits(slot)) this.#refuse(slot, { status: 500 });
      this.#engine.hookFailed(error);
    };
    try {
      const response = this.onRequest?.(request) ?? { status: 404 };
      if (response instanceof Promise) response.then((later) => this.#respond(slot, request, later)).catch(refuse);
      else this.#respond(slot, request, response);
    } catch (error) {
      refuse(error);
    }
  }

  #awaits(slot: Slot): boolean {
    return slot.session === undefined && this.#slots[(slot.handle % 2 ** 24) - WEB_TRANSPORT] === slot;
  }

  #respond(slot: Slot, request: WebTransportRequest, response: WebTransportResponse): void {
    if (!this.#awaits(slot)) return;
    checkAnswer(request, response);
    if ((response.status ?? 200) !== 200) {
      this.#refuse(slot, response);
      return;
    }
    const engine = this.#engine;
    const { authority, path, headers } = request;
    const { protocol = "" } = response;
    const fields = encodeFields(response.headers);
    engine.kick();
    const session = new WebTransportSession(engine, slot.handle, { authority, path, headers, protocol });
    slot.session = session;
    slot.request = undefined;
    engine.native.acceptSession(slot.handle, protocol, fields);
    engine.accepted(session);
  }

  #refuse(slot: Slot, { status = 500, headers }: WebTransportResponse): void {
    this.#engine.kick();
    this.#engine.native.rejectSession(slot.handle, status, encodeFields(headers));
  }

  onSessionLost(index: number, generation: number, error: QuicError): void {
    const slot = this.#slots[index - WEB_TRANSPORT];
    if (slot === undefined || slot.handle !== packHandle(index, generation)) return;
    this.#slots[index - WEB_TRANSPORT] = undefined;
    end(slot, error);
  }

  /** Returns callbacks that reject all pending requests with the engine's failure. */
  broken(error: QuicError): (() => void)[] {
    return this.#slots.splice(0).map((slot) => () => {
      if (slot !== undefined) end(slot, error);
    });
  }
}

function end({ session, clientRequest, request }: Slot, error: QuicError): void {
  if (session !== undefined) session.receiveLost(error);
  else if (clientRequest !== undefined) clientRequest.failed(error);
  else request?.onClientLeft(error);
}

/** A client's request that this server received. Creates its signal on first use. */
class AskedRequest implements WebTransportRequest {
  readonly authority: string;
  readonly path: string;
  readonly protocols: readonly string[];
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: SocketAddress;
  #abort: AbortController | undefined = undefined;
  #leftWith: QuicError | undefined = undefined;

  constructor(
    authority: string,
    path: string,
    protocols: readonly string[],
    headers: ReadonlyMap<string, string>,
    remoteAddress: SocketAddress,
  ) {
    this.authority = authority;
    this.path = path;
    this.protocols = protocols;
    this.headers = headers;
    this.remoteAddress = remoteAddress;
  }

  get origin(): string | undefined {
    return this.headers.get("origin");
  }

  get signal(): AbortSignal {
    if (this.#abort === undefined) {
      this.#abort = new AbortController();
      if (this.#leftWith !== undefined) this.#abort.abort(this.#leftWith);
    }
    return this.#abort.signal;
  }

  onClientLeft(error: QuicError): void {
    this.#leftWith = error;
    this.#abort?.abort(error);
  }
}
