import { type Limits, RpcError } from "@quicrpc/core";
import { expiries, type LinkedSet, type MemoryBudget } from "@quicrpc/core/internal";
import { messageTooLarge } from "../protocol/body.js";
import { codingNamed, type ContentCoding } from "../protocol/compression.js";
import { type Envelope, envelopesIn, readEnvelopes } from "../protocol/envelope.js";
import { type GetQuery, readGetQuery } from "../protocol/get-query.js";
import type { HttpExchange } from "./exchange.js";
import { RequestBytes } from "./request-bytes.js";
import { decompressInTurn } from "./coding-turns.js";
import { CODINGS } from "./http-call.js";
import { envelopeMessageOf } from "./input-reader.js";
import type { Framing } from "./routes.js";

/** Limits for reading the message of a request that has only one. */
export interface ReadingLimits {
  /** Maximum bytes of the message, both as sent and after decompression. */
  readonly maxBytes: number;
  readonly maxDecompressedBytes: number;
  /** Milliseconds until the message must have arrived; `late` returns the error if it has not. */
  readonly timeoutMs: number;
  readonly late: () => RpcError;
}

/** Name of the header that states the compression of messages in Connect streams. */
export const STREAM_CODING_HEADER = "connect-content-encoding";

const DEFAULT_BODY_MS = 60_000;

/** Returns the limits for reading a message if the call has no deadline, or a later one. */
export function usualReading(
  { maxFrameBytes: maxBytes, maxDecompressedBytes }: Limits,
  timeoutMs: number = DEFAULT_BODY_MS,
): ReadingLimits {
  const text = `the request's message did not arrive within ${timeoutMs} ms (maxBodyMs)`;
  return { maxBytes, maxDecompressedBytes, timeoutMs, late: () => new RpcError("deadline_exceeded", text) };
}

export function readingWithin(usual: ReadingLimits, timeoutMs: number | undefined): ReadingLimits {
  if (timeoutMs === undefined || timeoutMs > usual.timeoutMs) return usual;
  return { ...usual, timeoutMs, late: () => new RpcError("deadline_exceeded", "the deadline has passed") };
}

/**
 * Reads the message of a request that has only one, within its time limit. The bytes are charged to the request's
 * memory. Other code can end the reading by `give`.
 */
export class RequestReader {
  gone = false;
  private readonly exchange: HttpExchange;
  private readonly limits: ReadingLimits;
  private readonly held: RequestBytes;
  private readonly client: string | undefined;
  private readonly codingHeader: string;
  /** Error with which other code has ended the reading; undefined if it has not. */
  private ended: RpcError | undefined = undefined;
  private reject: ((error: RpcError) => void) | undefined = undefined;
  /** Reader of the request's body, used for a message in an envelope. */
  private body: ReadableStreamDefaultReader<Uint8Array> | undefined = undefined;
  private readonly readers: LinkedSet<RequestReader>;

  /**
   * @param readers list of active readers, which contains this one while it reads
   * @param client key of the client, for its turns of decompression
   * @param codingHeader name of the header that states the compression of a message in an envelope
   */
  constructor(
    exchange: HttpExchange,
    budget: MemoryBudget,
    limits: ReadingLimits,
    readers: LinkedSet<RequestReader>,
    client: string | undefined,
    codingHeader: string = STREAM_CODING_HEADER,
  ) {
    this.exchange = exchange;
    this.readers = readers;
    this.client = client;
    this.codingHeader = codingHeader;
    this.held = new RequestBytes(budget);
    this.limits = limits;
  }

  /** Ends the reading: rejects the read in progress with `reason`, and releases the bytes read. */
  give(reason: RpcError): void {
    this.ended = reason;
    if (this.reject === undefined) return;
    this.reject(reason);
    this.held.release();
    this.body?.cancel().catch(() => {});
    this.exchange.dropBody(reason);
  }

  /** Reads the message. Rejects with an `RpcError`, or with the error of the body if it fails. */
  async read(framing: Framing, query: URLSearchParams | undefined): Promise<Uint8Array> {
    const place = this.readers.add(this);
    try {
      const isStream = framing === "stream";
      const isPlain =
        isStream ||
        (framing === "unary" && query === undefined && this.exchange.header("content-encoding") === undefined);
      let arrival = isPlain ? this.exchange.arrival?.() : undefined;
      while (arrival !== undefined) {
        await arrival;
        // `envelopesIn` checks the length of a message in an envelope.
        const body = this.arrived(isStream ? Infinity : this.limits.maxBytes);
        if (body !== undefined) return isStream ? await this.ofEnvelopes(body) : body;
        arrival = this.exchange.arrival?.();
      }
      return await this.arriving(framing, query);
    } finally {
      this.readers.remove(place);
      this.held.release();
    }
  }

  /** Returns a body that has arrived together with its head; undefined if it has not. This needs no timer. */
  private arrived(maxBytes: number): Uint8Array | undefined {
    if (this.ended !== undefined) throw this.ended;
    const body = this.exchange.arrivedBody?.();
    if (body === undefined) return undefined;
    if (body.length > maxBytes) throw messageTooLarge(maxBytes);
    this.hold(body.length);
    return body;
  }

  private arriving(framing: Framing, query: URLSearchParams | undefined): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const { exchange } = this;
      this.reject = reject;
      const timer = expiries.add(this.limits.timeoutMs, () => this.give(this.limits.late()));
      exchange.onGone = () => {
        this.gone = true;
        this.give(new RpcError("cancelled", "the caller is gone"));
      };
      const over = (): void => {
        expiries.remove(timer);
        exchange.onGone = undefined;
        this.reject = undefined;
      };
      this.message(framing, query).then(
        (message) => {
          over();
          resolve(message);
        },
        (error: unknown) => {
          over();
          reject(error);
        },
      );
    });
  }

  private message(framing: Framing, query: URLSearchParams | undefined): Promise<Uint8Array> {
    if (query !== undefined) return this.ofQuery(query);
    if (framing !== "stream") return this.ofBody();
    this.body = this.exchange.body?.getReader();
    return this.ofStream(readEnvelopes(this.body, this.limits.maxBytes, (change) => this.hold(change)));
  }

  private ofBody(): Promise<Uint8Array> {
    const encoding = this.exchange.header("content-encoding");
    return encoding === undefined ? this.bytes() : this.decoded(encoding);
  }

  private async bytes(): Promise<Uint8Array> {
    // A body whose declared length is too large is refused without reading it.
    if (Number(this.exchange.header("content-length")) > this.limits.maxBytes)
      throw messageTooLarge(this.limits.maxBytes);
    return this.exchange.readBody(this.limits.maxBytes, (piece) => this.hold(piece));
  }

  private async decoded(encoding: string): Promise<Uint8Array> {
    const coding = codingNamed(encoding, CODINGS);
    return this.expanded(await this.bytes(), coding);
  }

  private async ofQuery(query: URLSearchParams): Promise<Uint8Array> {
    const parameters: Pick<GetQuery, "message" | "compression"> = query.has("encoding")
      ? readGetQuery(query)
      : readGetQuery(withJson(query));
    const coding = codingNamed(parameters.compression, CODINGS);
    this.hold(parameters.message.length);
    return this.expanded(parameters.message, coding);
  }

  /** Returns the message of a body that has arrived. */
  private ofEnvelopes(body: Uint8Array): Uint8Array | Promise<Uint8Array> {
    let only: Envelope | undefined;
    for (const envelope of envelopesIn(body, this.limits.maxBytes)) only = this.only(envelope, only);
    return this.ofEnvelope(only);
  }

  private async ofStream(envelopes: AsyncIterable<Envelope>): Promise<Uint8Array> {
    let only: Envelope | undefined;
    for await (const envelope of envelopes) only = this.only(envelope, only);
    return this.ofEnvelope(only);
  }

  private only(envelope: Envelope, before: Envelope | undefined): Envelope {
    if (before !== undefined) throw new RpcError("unimplemented", "the method takes one message, and there are more");
    this.hold(envelope.bytes.length);
    return envelope;
  }

  private ofEnvelope(envelope: Envelope | undefined): Uint8Array | Promise<Uint8Array> {
    if (envelope === undefined) throw new RpcError("unimplemented", "the method takes one message, and there is none");
    const coding = codingNamed(this.exchange.header(this.codingHeader), CODINGS);
    const hold = (more: number): void => this.hold(more);
    return envelopeMessageOf(envelope, coding, this.limits.maxDecompressedBytes, hold, this.client);
  }

  private async expanded(bytes: Uint8Array, coding: ContentCoding | undefined): Promise<Uint8Array> {
    if (coding === undefined || bytes.length === 0) return bytes;
    const { maxDecompressedBytes } = this.limits;
    const hold = (more: number): void => this.hold(more);
    return decompressInTurn(this.client, coding, bytes, maxDecompressedBytes, hold);
  }

  private hold(change: number): void {
    if (change >= 0 && this.ended !== undefined) throw this.ended;
    this.held.change(change);
  }
}

/** Returns a copy of the query in which the format is JSON if none was given. */
function withJson(query: URLSearchParams): URLSearchParams {
  const complete = new URLSearchParams(query);
  complete.set("encoding", "json");
  if (!complete.has("message")) complete.set("message", "{}");
  return complete;
}
