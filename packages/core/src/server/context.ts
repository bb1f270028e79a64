import type { TypedCaller } from "../call/base-caller.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Metadata } from "../metadata.js";
import { decodeMetadata, type RawMetadata, encodeMetadata } from "../wire/metadata.js";
import type { Awaitable, Router } from "./router.js";
import type { OnceSettings } from "./once-options.js";
import type { HeadFields } from "../wire/head.js";

export class AnswerHeads {
  readonly metadata: Metadata = new Metadata();
  readonly trailers: Metadata = new Metadata();
  /** Hash of this side's schema of the method. Set if the caller's schema differs. */
  fingerprint: number | undefined = undefined;
  private metadataSent = false;
  private readonly maxBytes: number;

  constructor(maxMetadataBytes: number) {
    this.maxBytes = maxMetadataBytes;
  }

  /**
   * Returns the response metadata to send before the response; undefined if there is none. Throws `RpcError`
   * `resource_exhausted` if it exceeds `limits.maxMetadataBytes`.
   */
  first(): HeadFields | undefined {
    const head = this.unsent();
    this.metadataSent = true;
    return head;
  }

  /**
   * Returns the head of the response's last frame: trailers, and response metadata that was not sent yet. The metadata
   * of `error` is added to the trailers. Throws in the same way as `first`.
   */
  last(error?: RpcError): HeadFields | undefined {
    const said = error === undefined || error.metadata.size === 0;
    const all = said ? this.trailers : new Metadata([...this.trailers, ...error.metadata]);
    const trailers = encodeMetadata(all, this.maxBytes);
    const head = this.unsent();
    return head === undefined && trailers === undefined ? undefined : { ...head, trailers };
  }

  private unsent(): HeadFields | undefined {
    if (this.metadataSent) return undefined;
    const metadata = encodeMetadata(this.metadata, this.maxBytes);
    const { fingerprint } = this;
    return metadata === undefined && fingerprint === undefined ? undefined : { metadata, fingerprint };
  }
}

/** Information about a call, for its handler. */
export interface CallContext<Context = unknown> {
  /**
   * Signal that aborts when the caller cancels the call, the deadline passes or the session ends. The reason is an
   * `RpcError`.
   */
  readonly signal: AbortSignal;
  /** Deadline of the call, in milliseconds since the Unix epoch by this side's clock; undefined if there is none. */
  readonly deadline: number | undefined;
  /** Metadata of the request. */
  readonly metadata: Metadata;
  /**
   * Cursor of the last item that the caller has received, for methods whose items have cursors: the handler continues
   * after that item. Undefined if the stream starts from the beginning. A handler that no longer knows the cursor
   * throws the error `CURSOR_EXPIRED`.
   */
  readonly resumeFrom: string | undefined;
  /** Metadata to send with the response, or before the first item of a stream. */
  readonly responseMetadata: Metadata;
  /** Metadata to send at the end of the call, whether it succeeds or fails. */
  readonly trailers: Metadata;
  /**
   * Sends `responseMetadata` now; later changes to it have no effect. Throws `RpcError` `resource_exhausted` if it
   * exceeds `limits.maxMetadataBytes`.
   */
  sendResponseMetadata(): void;
  /**
   * Whether to compress the messages of the response, if the caller can decompress them. Undefined, the initial value:
   * messages of at least `compression.minBytes` bytes are compressed. Messages that would not get shorter, and messages
   * over 4 KiB that would shrink to less than a hundredth, are never compressed.
   */
  compress: boolean | undefined;
  /** Descriptor of the called method. */
  readonly method: AnyMethod;
  /** Makes calls to the caller, over the session of this call. */
  readonly session: TypedCaller;
  /** The application's value for the client's connection: the result of `authenticate`, or the option `connection`. */
  readonly connection: Context;
  /**
   * The connection value after the latest renewal of the client's credentials. `connection` keeps its value from the
   * start of the call.
   */
  readonly latestConnection: Context;
  /**
   * Registers a function that runs each time that the client renews its credentials during the call. Its argument is a
   * context with the new connection value. If the function throws or rejects, the call fails.
   */
  onRenewal(check: (context: CallContext<Context>) => Awaitable<void>): void;
  /**
   * Identifies a call of a `once` method; undefined for other methods. The handler of a `once` method continues even if
   * its caller disconnects; `signal` aborts only if the server loses the right to run the call (its lease).
   */
  readonly once: OnceIdentity | undefined;
}

export interface OnceIdentity {
  /** Unique for each principal, method and key. Store it in the same database transaction as the effect of the call. */
  readonly id: string;
  readonly key: string;
  readonly principal: string;
}

/** Returns a string that identifies the principal (user or client) of a call. */
export type PrincipalOf<Context> = (context: CallContext<Context>) => string;

/** Settings that all calls of a session share. */
export interface ContextSettings<Context> {
  readonly session: TypedCaller;
  readonly connection: Context;
  /** Current identity of the client. Undefined if the client cannot renew its credentials on this session. */
  readonly identity?: Identity<Context> | undefined;
  readonly limits: Limits;
  readonly once?: OnceSettings | undefined;
  readonly principal?: PrincipalOf<never> | undefined;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
  /** The methods of the server, with its interceptors. Undefined for requests that are not calls. */
  readonly served?: Router<never> | undefined;
}

export type ReceivedMetadata = RawMetadata | Metadata | (() => Metadata) | undefined;

/**
 * Implementation of `CallContext`. Its `AbortSignal` and metadata are created on first access, because a signal costs
 * more than a small call.
 */
export class IncomingContext<Context> implements CallContext<Context> {
  readonly deadline: number | undefined;
  readonly method: AnyMethod;
  readonly resumeFrom: string | undefined;
  compress: boolean | undefined = undefined;
  /** Metadata and trailers of the response; undefined until the handler accesses them. */
  answerHeads: AnswerHeads | undefined = undefined;
  /** Sends the response of the call; undefined for a notification. */
  reply: { sendMetadata(): void; revoke(error: RpcError): void } | undefined = undefined;
  /**
   * Set when the handler of a `once` method has started. From then on, a disconnected caller does not abort the
   * handler.
   */
  once: OnceIdentity | undefined = undefined;
  #over = false;
  /** Runs the functions registered by `onRenewal`; undefined if there are none. */
  #checks: (() => void) | undefined = undefined;
  readonly #settings: ContextSettings<Context>;
  #received: ReceivedMetadata;
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;

  constructor(
    method: AnyMethod,
    timeoutMs: number | undefined,
    metadata: ReceivedMetadata,
    settings: ContextSettings<Context>,
    resumeFrom?: string,
  ) {
    this.method = method;
    this.resumeFrom = resumeFrom;
    this.deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
    this.#received = metadata;
    this.#settings = settings;
  }

  get session(): TypedCaller {
    return this.#settings.session;
  }

  get settings(): ContextSettings<Context> {
    return this.#settings;
  }

  get connection(): Context {
    return this.#settings.connection;
  }

  get latestConnection(): Context {
    const { identity, connection } = this.#settings;
    return identity === undefined ? connection : identity.latest;
  }

  onRenewal(check: (context: CallContext<Context>) => Awaitable<void>): void {
    const { identity } = this.#settings;
    if (identity === undefined || this.#over) return;
    const before = this.#checks;
    const run = async (): Promise<void> => {
      try {
        await check(this.#renewed());
      } catch (error) {
        this.reply?.revoke(RpcError.from(error, "internal"));
      }
    };
    const both = (): void => {
      before?.();
      void run();
    };
    if (before !== undefined) identity.unwatch(before);
    identity.watch(both);
    this.#checks = both;
  }

  /** Called when the call has ended. Removes the functions registered by `onRenewal`. */
  over(): void {
    this.#over = true;
    if (this.#checks !== undefined) this.#settings.identity?.unwatch(this.#checks);
    this.#checks = undefined;
  }

  /** Returns a context of the same call with the latest connection value. */
  #renewed(): IncomingContext<Context> {
    const settings = { ...this.#settings, connection: this.latestConnection };
    const timeoutMs = this.deadline === undefined ? undefined : this.deadline - Date.now();
    return new IncomingContext(this.method, timeoutMs, this.#received, settings, this.resumeFrom);
  }

  get metadata(): Metadata {
    const received = this.#received;
    if (received instanceof Metadata) return received;
    const metadata = typeof received === "function" ? received() : decodeMetadata(received);
    this.#received = metadata;
    return metadata;
  }

  get responseMetadata(): Metadata {
    return this.#heads().metadata;
  }

  get trailers(): Metadata {
    return this.#heads().trailers;
  }

  sendResponseMetadata(): void {
    this.reply?.sendMetadata();
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Called if the caller's schema of the method differs. The response then contains the hash of this side's schema. */
  tellSchema(): void {
    this.#heads().fingerprint = this.method.fingerprint;
  }

  get onceSettings(): OnceSettings | undefined {
    return this.#settings.once;
  }

  get hasEnded(): boolean {
    return this.#reason !== undefined;
  }

  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Passes an error to `onError` that the caller does not receive. */
  report(error: unknown): void {
    this.#settings.onError(error, { method: fullName(this.method) });
  }

  /** Aborts `signal`. Does nothing once the handler of a `once` method has started. */
  abort(reason: RpcError): void {
    if (this.once === undefined) this.fence(reason);
  }

  /** Aborts `signal`, even in the handler of a `once` method. */
  fence(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }

  #heads(): AnswerHeads {
    this.answerHeads ??= new AnswerHeads(this.#settings.limits.maxMetadataBytes);
    return this.answerHeads;
  }
}

/**
 * Returns the principal (user or client) of a call: the result of `principal`, or the connection value if it is a
 * string. Returns "" if there is no connection value.
 *
 * @param unknown message of the error thrown if the principal cannot be determined
 */
export function principalOf(principal: PrincipalOf<never> | undefined, context: CallContext, unknown: string): string {
  if (principal !== undefined) return principal(context as CallContext<never>);
  const { connection } = context;
  if (connection === undefined) return "";
  if (typeof connection === "string") return connection;
  throw new Error(unknown);
}

/** The latest connection value of a session's client, for calls that started before it renewed its credentials. */
export class Identity<Context> {
  latest: Context;
  private watchers: Set<() => void> | undefined = undefined;

  constructor(first: Context) {
    this.latest = first;
  }

  renew(connection: Context): void {
    this.latest = connection;
    if (this.watchers === undefined) return;
    for (const watcher of this.watchers) watcher();
  }

  /** Registers `watcher`, which is called after each renewal of the credentials. */
  watch(watcher: () => void): void {
    this.watchers ??= new Set();
    this.watchers.add(watcher);
  }

  unwatch(watcher: () => void): void {
    this.watchers?.delete(watcher);
  }
}
