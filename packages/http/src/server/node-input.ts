import { RpcError } from "@quicrpc/core";
import { asError } from "@quicrpc/core/internal";
import { type ByteBody, messageTooLarge } from "../protocol/body.js";
import { Gathered } from "../protocol/gathered.js";
import { ReceivedBody } from "../protocol/received-body.js";
import { type AnswerBody, type AnswerHead, type Fields, fieldsWith, type HttpExchange } from "./exchange.js";

/** The event methods of Node's streams that this package uses. */
interface NodeEvents {
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  on(event: string, listener: (...args: any[]) => void): unknown;
}

/** The members of a Node request, as a readable stream, that this package uses. */
export interface NodeReadable extends NodeEvents {
  readonly readableEnded: boolean;
  readonly readableLength?: number | undefined;
  readonly destroyed: boolean;
  // oxlint-disable-next-line typescript/no-explicit-any -- as of node:events
  off(event: string, listener: (...args: any[]) => void): unknown;
  read?(bytes?: number): Uint8Array | null;
  pause(): unknown;
  resume(): unknown;
}

/** The members of a Node response, as a writable stream, that this package uses. */
export interface NodeWritable extends NodeEvents {
  write(bytes: Uint8Array): boolean;
  readonly writableFinished: boolean;
  end(): unknown;
}

/** Header fields by lower-case name. */
export type NodeHeaders = Readonly<Record<string, string | string[] | undefined>>;

/** Milliseconds for which the rest of a request is read and dropped after the request was answered. */
export const LINGER_MS = 1000;

const LOOPBACK = /^(127\.|::1$|::ffff:127\.)/;

export function isLoopbackAddress(address: string | undefined): boolean {
  return LOOPBACK.test(address ?? "");
}

/**
 * Key on a platform object for its exchange; removed when the exchange closes. Other code may keep a dead platform
 * object alive until a full garbage collection, and the exchange with it.
 */
const EXCHANGE = Symbol("quicrpc.exchange");
type Owner = { [EXCHANGE]: NodeInput | undefined };

function onClose(this: unknown): void {
  const owner = this as Owner;
  const exchange = owner[EXCHANGE];
  owner[EXCHANGE] = undefined;
  exchange?.close();
}

/**
 * Destroys an HTTP/2 stream as soon as its client has reset it. Node does so itself, except if the stream was reset
 * without an error while its body is unread: Node reports that reset only after the body is read, and throws when the
 * stream is answered.
 */
export function destroyWhenReset(stream: NodeEvents): void {
  stream.on("aborted", destroyThis);
}

function destroyThis(this: { destroy(): unknown }): void {
  this.destroy();
}

/** Reads the body and header fields of a request of Node's servers. */
export abstract class NodeInput {
  added: HttpExchange["added"] = undefined;
  unread: HttpExchange["unread"] = undefined;
  private made: Headers | undefined = undefined;
  private drop: ((error: RpcError) => void) | undefined = undefined;
  protected readonly fields: NodeHeaders;
  protected readonly input: NodeReadable;

  constructor(fields: NodeHeaders, input: NodeReadable) {
    this.fields = fields;
    this.input = input;
  }

  /** True if a body that has ended is incomplete. */
  protected abstract readonly wasCutOff: boolean;

  /** Called once when the response is complete, or the client has disconnected. */
  abstract close(): void;

  /**
   * Closes this exchange when `answer` closes.
   * @param answer the response, or the HTTP/2 stream
   */
  protected endsWith(answer: NodeEvents): void {
    (answer as unknown as Owner)[EXCHANGE] = this;
    answer.on("close", onClose);
    // "close" follows every "error" event.
    answer.on("error", ignore);
  }

  header(name: string): string | undefined {
    const value = this.fields[name];
    return typeof value === "object" ? value.join(", ") : value;
  }

  get headers(): Headers {
    this.made ??= headersOf(this.fields);
    return this.made;
  }

  readBody(maxBytes: number, hold: (bytes: number) => void): Promise<Uint8Array> {
    const { input } = this;
    return new Promise((resolve, reject) => {
      const gathered = new Gathered();
      const over = (): void => {
        input.off("data", onData);
        input.off("end", onEnd);
        input.off("close", onClose);
        this.drop = undefined;
      };
      const fail = (error: unknown): void => {
        over();
        reject(asError(error));
      };
      const onData = (piece: Uint8Array): void => {
        try {
          if (gathered.length + piece.length > maxBytes) throw messageTooLarge(maxBytes);
          hold(piece.length);
        } catch (error) {
          fail(error);
          // Bytes that still arrive are read and dropped.
          input.resume();
          return;
        }
        gathered.append(piece);
      };
      const onEnd = (): void => {
        if (this.wasCutOff) return;
        over();
        resolve(gathered.take(gathered.length));
      };
      const onClose = (): void => fail(cutOff());
      this.drop = (error) => {
        fail(error);
        input.resume();
      };
      input.on("data", onData);
      input.on("end", onEnd);
      input.on("close", onClose);
      input.on("error", ignore);
      if (input.destroyed) onClose();
    });
  }

  dropBody(error: RpcError): void {
    this.drop?.(error);
  }

  /**
   * Returns the request's body as a stream, until the response `answer` has ended. The request is paused while too many
   * bytes are unread.
   */
  protected bodyUntil(answer: NodeEvents): ByteBody {
    const { input } = this;
    const resume = (): unknown => input.resume();
    // Bytes that arrive after the reader has stopped are read and dropped.
    const source = { pause: () => input.pause(), resume, drop: resume };
    const body = new ReceivedBody(source, (change) => this.unread?.change(change));
    const cut = (): void => body.fail(cutOff());
    input.on("data", (piece: Uint8Array) => body.push(piece));
    input.on("end", () => (this.wasCutOff ? cut() : body.end()));
    input.on("close", cut);
    input.on("error", ignore);
    answer.on("close", cut);
    if (input.destroyed) cut();
    return body.stream;
  }
}

export function whenFinished(answer: NodeWritable, onFinished: () => void): void {
  if (answer.writableFinished) onFinished();
  else answer.on("finish", onFinished);
}

/** Declared here because it exists in every runtime that has Node's requests. */
declare function setImmediate(callback: () => void): unknown;

let turn: Promise<void> | undefined;

/**
 * Resolves when the platform has delivered all data that it has read; Node delivers each TLS record separately. All
 * requests in a turn of the event loop share one timer.
 */
export function endOfTurn(): Promise<void> {
  turn ??= new Promise((resolve) => {
    setImmediate(() => {
      turn = undefined;
      resolve();
    });
  });
  return turn;
}

/** No-op listener: the event is handled elsewhere. */
export function ignore(): void {}

function cutOff(): RpcError {
  return new RpcError("cancelled", "the request ended before its body did");
}

function headersOf(fields: NodeHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(fields)) {
    // Names that begin with ":" are pseudo-header fields of HTTP/2.
    if (value === undefined || name.startsWith(":")) continue;
    for (const item of typeof value === "string" ? [value] : value) {
      try {
        headers.append(name, item);
      } catch {
        // Metadata cannot contain a field that `Headers` rejects.
      }
    }
  }
  return headers;
}

/**
 * Returns a new object with the fields of a response, because several responses may share a head. The object is filled
 * field by field: V8 allocates copies of object literals in the old generation if many of them have survived a minor
 * garbage collection.
 */
export function headerFieldsOf(
  { fields, metadata }: Pick<AnswerHead, "fields" | "metadata">,
  added: HttpExchange["added"],
): Record<string, string | string[]> {
  const merged = fieldsWith(fields, added);
  const all: Record<string, string | string[]> = metadata === undefined ? {} : Object.create(null);
  for (const name in merged) all[name] = merged[name] as string;
  if (metadata === undefined) return all;
  for (const [name, value] of metadata) {
    const before = all[name];
    all[name] = before === undefined ? value : [...(typeof before === "string" ? [before] : before), value];
  }
  return all;
}

/** The trailers of a response, as Node's servers take them. */
export type Trailers = Record<string, string | string[]>;

export function trailersOf(trailers: Fields): Trailers {
  return headerFieldsOf({ fields: {}, metadata: trailers }, undefined);
}

/**
 * Maximum bytes of one write over TLS. Node encrypts a whole write at once, and keeps memory for the largest one until
 * the connection closes.
 */
const MAX_TLS_WRITE = 262_144;

/**
 * Returns true if a body must be written in pieces of `MAX_TLS_WRITE` bytes, each after the socket has taken the
 * previous one.
 */
export function isInPieces(body: Uint8Array | string | undefined, isSecure: boolean): body is Uint8Array {
  return isSecure && typeof body === "object" && body.length > MAX_TLS_WRITE;
}

/** Maximum bytes of small pieces that are joined and written together. */
const MAX_GATHERED = 16_384;

/**
 * Sends a response's body in pieces. The first piece in a turn of the event loop is written at once, and the others
 * together. Each write that waits in a Node stream creates an error with a stack when the client resets the stream, so
 * thousands of small writes would block all other clients.
 */
export class NodeAnswerBody implements AnswerBody {
  private readonly response: NodeWritable;
  private readonly onEnded: () => void;
  private resume: (() => void) | undefined = undefined;
  private full = false;
  /** Pieces after the first one in this turn of the event loop. */
  private readonly gathered: Gathered = new Gathered();
  /** True if a piece was written in this turn of the event loop. */
  private hasWritten = false;
  private closed: boolean;
  /** True if the response ends after the gathered pieces are written. */
  private ending = false;
  private readonly isSecure: boolean;
  private readonly sendTrailers: ((trailers: Trailers) => void) | undefined;

  /**
   * @param isSecure true if the connection is encrypted
   * @param onEnded called once when the whole response was passed to the platform
   * @param sendTrailers passes trailers to the platform, before the end of the response
   */
  constructor(
    response: NodeWritable,
    closed: boolean,
    isSecure: boolean,
    onEnded: () => void,
    sendTrailers?: (trailers: Trailers) => void,
  ) {
    this.response = response;
    this.sendTrailers = sendTrailers;
    this.onEnded = onEnded;
    this.closed = closed;
    this.isSecure = isSecure;
    // Handled in a later turn, so that a client that reads fast does not block others.
    response.on("drain", () => void endOfTurn().then(() => this.onDrain()));
    response.on("close", () => {
      this.closed = true;
      this.wake();
    });
  }

  get ready(): boolean {
    return !this.full || this.closed;
  }

  write(bytes: Uint8Array): void {
    if (this.closed) return;
    this.gathered.append(bytes);
    if (!this.hasWritten) {
      this.hasWritten = true;
      void endOfTurn().then(() => {
        this.hasWritten = false;
        this.flush();
      });
    } else if (this.gathered.length < MAX_GATHERED) return;
    this.flush();
  }

  whenReady(resume: () => void): void {
    if (this.ready) resume();
    else this.resume = resume;
  }

  end(trailers?: Fields): void {
    if (this.closed) return;
    if (trailers !== undefined) this.sendTrailers?.(trailersOf(trailers));
    this.ending = true;
    this.flush();
  }

  /**
   * Writes the gathered pieces. Over TLS, writes at most `MAX_TLS_WRITE` bytes at once, and the rest when the socket
   * has taken them.
   */
  private flush(): void {
    const { gathered, response, isSecure } = this;
    const most = isSecure ? MAX_TLS_WRITE : Infinity;
    while (gathered.length > 0 && !this.closed) {
      if (isSecure && this.full) return;
      this.full = !response.write(gathered.take(Math.min(gathered.length, most)));
    }
    if (!this.ending || gathered.length > 0 || this.closed) return;
    this.ending = false;
    response.end();
    this.onEnded();
  }

  private onDrain(): void {
    this.full = false;
    if (this.isSecure) this.flush();
    if (this.ready) this.wake();
  }

  private wake(): void {
    const { resume } = this;
    this.resume = undefined;
    resume?.();
  }
}
