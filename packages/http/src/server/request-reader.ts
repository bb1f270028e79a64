import { RpcError } from "@quicrpc/core";
import { expiries, type MemoryBudget } from "@quicrpc/core/transport";
import { codingNamed, type ContentCoding } from "../protocol/compression.js";
import { readEnvelopes } from "../protocol/envelope.js";
import { type GetQuery, readGetQuery } from "../protocol/get-query.js";
import type { HttpExchange } from "./exchange.js";
import { HeldBytes } from "./held-bytes.js";
import { CODINGS } from "./http-call.js";
import { messageOf } from "./input-reader.js";
import type { Framing } from "./routes.js";

/** Bounds of the one message of a request. */
export interface ReadingLimits {
  /** Bytes as they are sent, and once they are decompressed. */
  readonly maxBytes: number;
  readonly maxDecompressedBytes: number;
  /** Milliseconds until it must have arrived, and the error where it has not. */
  readonly timeoutMs: number;
  readonly late: () => RpcError;
}

/**
 * Reads the message of a request that has one: within its time, and charged to the memory of the request. `give` ends it from
 * outside.
 */
export class RequestReader {
  /** The client is gone: nobody waits for an answer. */
  gone = false;
  private readonly exchange: HttpExchange;
  private readonly limits: ReadingLimits;
  private readonly held: HeldBytes;
  /** Why the message is not wanted any more. */
  private ended: RpcError | undefined = undefined;
  private reject: ((error: RpcError) => void) | undefined = undefined;

  constructor(exchange: HttpExchange, budget: MemoryBudget, limits: ReadingLimits) {
    this.exchange = exchange;
    this.held = new HeldBytes(budget);
    this.limits = limits;
  }

  /** Rejects the read that is in progress, and releases what has been read. */
  give(error: RpcError): void {
    if (this.reject === undefined) return;
    this.ended = error;
    this.reject(error);
    this.held.release();
    this.exchange.dropBody(error);
  }

  /** Rejects with an `RpcError`, and with whatever else the body fails with. */
  read(framing: Framing, query: URLSearchParams | undefined): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const { exchange } = this;
      this.reject = reject;
      const timer = expiries.add(this.limits.timeoutMs, () => this.give(this.limits.late()));
      exchange.onGone = () => {
        this.gone = true;
        this.give(new RpcError("cancelled", "the caller is gone"));
      };
      this.message(framing, query)
        .finally(() => {
          expiries.remove(timer);
          exchange.onGone = undefined;
          this.reject = undefined;
          this.held.release();
        })
        .then(resolve, reject);
    });
  }

  private async message(framing: Framing, query: URLSearchParams | undefined): Promise<Uint8Array> {
    if (query !== undefined) return this.ofQuery(query);
    if (framing === "stream") return this.ofEnvelope();
    const { exchange, limits } = this;
    const coding = codingNamed(exchange.header("content-encoding"), CODINGS);
    const bytes = await exchange.readBody(limits.maxBytes, (piece) => this.hold(piece));
    return this.expanded(bytes, coding);
  }

  private async ofQuery(query: URLSearchParams): Promise<Uint8Array> {
    const given: Pick<GetQuery, "message" | "compression"> = query.has("encoding")
      ? readGetQuery(query)
      : readGetQuery(withJson(query));
    const coding = codingNamed(given.compression, CODINGS);
    this.hold(given.message.length);
    return this.expanded(given.message, coding);
  }

  private async ofEnvelope(): Promise<Uint8Array> {
    const { exchange, limits } = this;
    const coding = codingNamed(exchange.header("connect-content-encoding"), CODINGS);
    let only: Uint8Array | undefined;
    for await (const envelope of readEnvelopes(exchange.body, limits.maxBytes, (change) => this.hold(change))) {
      if (only !== undefined) throw new RpcError("unimplemented", "the method takes one message, and there are more");
      this.hold(envelope.bytes.length);
      only = await messageOf(envelope, coding, limits.maxDecompressedBytes, (more) => this.hold(more));
    }
    if (only === undefined) throw new RpcError("unimplemented", "the method takes one message, and there is none");
    return only;
  }

  private async expanded(bytes: Uint8Array, coding: ContentCoding | undefined): Promise<Uint8Array> {
    if (coding === undefined || bytes.length === 0) return bytes;
    return coding.decompress(bytes, this.limits.maxDecompressedBytes, (more) => this.hold(more));
  }

  private hold(change: number): void {
    if (change > 0 && this.ended !== undefined) throw this.ended;
    this.held.change(change);
  }
}

/** A query of which the format goes without saying. */
function withJson(query: URLSearchParams): URLSearchParams {
  const complete = new URLSearchParams(query);
  complete.set("encoding", "json");
  if (!complete.has("message")) complete.set("message", "{}");
  return complete;
}
