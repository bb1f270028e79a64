import { type CallOptions, RpcError } from "@quicrpc/core";
import type { AnyMethod, Caller, MessageCodec } from "@quicrpc/core/generated";
import {
  CALLER_LIMITS,
  type CallerLimits,
  callFailureOf,
  type Calling,
  type DecodeBudget,
  decodeWithin,
  fullName,
  type PendingCall,
  publicUrl,
  type Resumption,
} from "@quicrpc/core/internal";
import type { ForeignClient } from "@quicrpc/core/transport";
import type { ContentCoding } from "../protocol/compression.js";
import { HttpClientCall } from "./http-call.js";
import type * as LoadedLater from "./loaded-later.js";
import { type HttpOptions, type HttpCodec, messagePack } from "./options.js";
import { callUnary } from "./unary.js";

/** Minimum bytes of a message that is compressed by default. Smaller messages gain little. */
const MIN_BYTES = 1024;

/** Value with which `closed` fulfils after this side has closed the client. */
type End = Awaited<ForeignClient["closed"]>;

/** A client that makes calls by the Connect protocol over `fetch`. Each call is a separate request. */
export class HttpClient implements ForeignClient {
  readonly closed: Promise<End>;
  /** URL of the server's methods, up to the service name. */
  readonly base: string;
  /** URL of the server, for error messages. */
  readonly peer: string;
  readonly limits: CallerLimits;
  readonly codec: HttpCodec;
  readonly options: HttpOptions;
  /** Supported compressions. Sent messages are compressed with the first. */
  readonly codings: readonly ContentCoding[];
  /** Calls in progress, and streams that wait to continue. */
  readonly calls: Members<Pick<HttpClientCall, "fail">> = new Members();
  /** Memory limit for decoding a message. A page would otherwise load `MemoryBudget` only for this. */
  readonly #budget: DecodeBudget;
  #isClosed = false;
  #onClosed!: (end: End) => void;
  readonly #notifications: Members<unknown> = new Members();

  constructor(url: URL, options: HttpOptions) {
    const { origin, pathname } = url;
    this.base = origin + pathname.replace(/\/?$/, "/");
    this.peer = publicUrl(url);
    this.limits = { ...CALLER_LIMITS, ...options.limits };
    const { maxSessionBytes: max } = this.limits;
    this.#budget = {
      max,
      room: max,
      refusal(what) {
        const text = `${what} holds too much memory: limits.maxSessionBytes is ${max}`;
        return new RpcError("resource_exhausted", text);
      },
    };
    this.codec = options.codec ?? messagePack;
    this.options = options;
    this.codings = options.compression?.algorithms.filter((coding) => coding !== undefined) ?? [];
    this.closed = new Promise((resolve) => {
      this.#onClosed = resolve;
    });
  }

  /**
   * Decodes a message. Throws the codec's error, and `resource_exhausted` if the message would take more memory than
   * `limits.maxSessionBytes`.
   */
  decode(codec: MessageCodec<unknown> | undefined, bytes: Uint8Array): unknown {
    return codec && decodeWithin(this.#budget, codec, bytes, 0, bytes.length);
  }

  readonly start: Caller["start"] = ((method: AnyMethod, input: unknown, options?: CallOptions) => {
    const { around } = method.calling;
    return around === undefined || options?.attempt !== undefined
      ? this.begin(method, input, options)
      : around(this, method, input, options);
  }) as Caller["start"];

  /** Makes one call. A stream with cursors calls this again each time it continues. */
  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): unknown {
    options?.attempt?.onMade();
    const pending = (method.calling as Calling).create(method, options, input);
    let fail = (error: unknown): void =>
      pending.end(callFailureOf(RpcError.from(error, "internal"), method, this.peer));
    try {
      if (this.#isClosed) throw new RpcError("unavailable", "the client was closed", { refused: true });
      if (options?.fallback === "none" && method.kind === "notify") {
        throw new RpcError("unimplemented", `${fullName(method)} is sent as a datagram, and this session has none`);
      }
      const call = new HttpClientCall(this, method, options, fail);
      fail = (error) => call.fail(error);
      if (method.kind === "notify") this.#notifications.add(call);
      if ((method.kind === "unary" || method.kind === "notify") && options?.from === undefined) {
        const onAnswer = (answer: unknown): void => {
          if (call.over) return;
          call.settle();
          pending.end(undefined, answer);
        };
        this.unary(call, input)
          .then(onAnswer, fail)
          .finally(() => call.answered());
      } else this.stream(call, input, pending).catch(fail);
    } catch (error) {
      fail(error);
    }
    return pending.answer;
  }

  /** Makes a call with one message in each direction and returns its response. Encodes the input before it returns. */
  protected unary(call: HttpClientCall, input: unknown): Promise<unknown> {
    return call.method.blobs === undefined
      ? callUnary(call, input)
      : import("./blob-call.js").then(({ callWithBlobs }) => callWithBlobs(call, input));
  }

  /** Makes a call that streams in either direction. Rejects if the call cannot start. */
  protected stream(call: HttpClientCall, input: unknown, pending: PendingCall): Promise<void> {
    return this.later().then(({ callStream }) => callStream(call, input, pending));
  }

  /** Registers streams that wait to continue; undefined if the client was closed. */
  get resumption(): Resumption | undefined {
    return this.#isClosed ? undefined : { forMs: this.limits.maxResumeMs, suspend: (fail) => this.#suspend(fail) };
  }

  close({ closeCode = 0, reason = "" }: Partial<Pick<End, "closeCode" | "reason">> = {}): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const error = new RpcError("unavailable", "the client was closed");
    for (const call of this.calls) call.fail(error);
    this.#onClosed({ closeCode, reason, error: undefined });
  }

  idle(): Promise<void> {
    return this.calls.none();
  }

  get unacknowledged(): number {
    return this.#notifications.size;
  }

  acknowledged(): Promise<void> {
    return this.#notifications.none();
  }

  /** Loads the code that successful unary calls do not need. */
  later(): Promise<typeof LoadedLater> {
    return import("./loaded-later.js");
  }

  /** Called when a call has ended, or a stream no longer waits to continue. */
  settled(call: Pick<HttpClientCall, "fail">): void {
    this.#notifications.delete(call);
    this.calls.delete(call);
  }

  #suspend(fail: (error: RpcError) => void): () => void {
    const waiting = { fail };
    this.calls.add(waiting);
    return () => this.settled(waiting);
  }

  /** Returns the compression for a message of this number of bytes; undefined if it is not compressed. */
  codingFor(bytes: number, wanted: boolean | undefined): ContentCoding | undefined {
    return (wanted ?? bytes >= (this.options.compression?.minBytes ?? MIN_BYTES)) ? this.codings[0] : undefined;
  }
}

/** A set of which code can wait until it is empty. */
class Members<Member> extends Set<Member> {
  #waiting: (() => void)[] = [];

  override delete(member: Member): boolean {
    const had = super.delete(member);
    if (this.size === 0) for (const resolve of this.#waiting.splice(0)) resolve();
    return had;
  }

  none(): Promise<void> {
    return this.size === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}
