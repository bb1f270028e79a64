import type { TypedCaller } from "../call/base-caller.js";
import { type AnyMethod, fullName } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import { Metadata } from "../metadata.js";
import { decodeMetadata, type RawMetadata, encodeMetadata } from "../wire/metadata.js";
import type { Awaitable } from "./router.js";
import type { OnceSettings } from "./once-options.js";
import type { HeadFields } from "../wire/head.js";

/** Metadata that a handler sends with its response, as heads of the response's frames. */
export class AnswerHeads {
  readonly metadata: Metadata = new Metadata();
  readonly trailers: Metadata = new Metadata();
  /** Fingerprint of the method's schema, if the caller has another one. */
  fingerprint: number | undefined = undefined;
  private metadataSent = false;
  private readonly maxBytes: number;

  constructor(maxMetadataBytes: number) {
    this.maxBytes = maxMetadataBytes;
  }

  /** Returns the head that precedes the response; undefined if there is none. Throws `RpcError` `resource_exhausted`. */
  first(): HeadFields | undefined {
    const head = this.unsent();
    this.metadataSent = true;
    return head;
  }

  /** Returns the head of the last frame; an error's metadata is among its trailers. Throws as `first` does. */
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

/** A call as its handler sees it. */
export interface CallContext<Context = unknown> {
  /** Fires when the caller cancels, the deadline passes or the session ends; the reason is an `RpcError`. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, in milliseconds since the epoch by this side's clock; undefined: never. */
  readonly deadline: number | undefined;
  /** Metadata that the caller sent with its request. */
  readonly metadata: Metadata;
  /**
   * Cursor of the last item that the caller has received, if the method's items have cursors: the caller asks for those
   * that follow. Undefined if it has received none. A handler that no longer knows the cursor throws `CURSOR_EXPIRED`.
   */
  readonly resumeFrom: string | undefined;
  /** Goes to the caller with the answer, or before the first item. */
  readonly responseMetadata: Metadata;
  /** Goes to the caller with the last word, be it good or an error. */
  readonly trailers: Metadata;
  /**
   * Sends `responseMetadata` now; later changes to it do not arrive. Throws `RpcError` `resource_exhausted` when it is
   * larger than `limits.maxMetadataBytes`.
   */
  sendResponseMetadata(): void;
  /**
   * Whether to compress the answer, if the caller can decompress it. Undefined, the initial value: messages of at least
   * `compression.minBytes` of the session. Messages that would not get shorter, or would shrink to less than a hundredth
   * (beyond 4 KiB), are sent uncompressed in any case.
   */
  compress: boolean | undefined;
  /** The method that was called. */
  readonly method: AnyMethod;
  /** Calls back to the caller, over the same session. */
  readonly session: TypedCaller;
  /** The application's value for the connection, such as the result of `authenticate`. */
  readonly connection: Context;
  /**
   * The client's current connection value: `connection` keeps its value from the start of the call, while this one
   * follows renewals of the credentials.
   */
  readonly latestConnection: Context;
  /**
   * Calls `check` whenever the client's credentials are renewed during the call, with a context of the latest
   * connection. If it throws, or rejects, with an `RpcError`, the call fails with it.
   */
  onRenewal(check: (context: CallContext<Context>) => Awaitable<void>): void;
  /**
   * Identifies the call in a handler of a `once` method; undefined in others. Such a handler runs to its end even if
   * its caller disconnects: its `signal` fires only when the call's lease is lost.
   */
  readonly once: OnceIdentity | undefined;
}

/** The name of a call that takes effect once. */
export interface OnceIdentity {
  /** Unique for principal, method and key. Commit it in the transaction of the effect. */
  readonly id: string;
  /** The caller's key. */
  readonly key: string;
  readonly principal: string;
}

/** Returns the principal of a call, as a text that no other principal has. */
export type PrincipalOf<Context> = (context: CallContext<Context>) => string;

/** Settings that the contexts of a session's calls share. */
export interface ContextSettings<Context> {
  readonly session: TypedCaller;
  readonly connection: Context;
  /** The client's identity, if it can renew its credentials on its session. */
  readonly identity?: Identity<Context> | undefined;
  readonly limits: Limits;
  readonly once?: OnceSettings | undefined;
  /** Returns the principal of a call. */
  readonly principal?: PrincipalOf<never> | undefined;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
}

/** Metadata of a request, or a source that supplies it on demand. */
export type ReceivedMetadata = RawMetadata | Metadata | (() => Metadata) | undefined;

/** The context of one call. Expensive parts are created on first access: a signal costs more than a small call. */
export class IncomingContext<Context> implements CallContext<Context> {
  readonly deadline: number | undefined;
  readonly method: AnyMethod;
  readonly resumeFrom: string | undefined;
  compress: boolean | undefined = undefined;
  /** Metadata that the handler sends with its answer; undefined until there is some. */
  answerHeads: AnswerHeads | undefined = undefined;
  /** The call's answer; undefined for a notification. */
  reply: { sendMetadata(): void; revoke(error: RpcError): void } | undefined = undefined;
  /** Set when the handler of a `once` method is entered: from then on it is not aborted when the caller leaves. */
  once: OnceIdentity | undefined = undefined;
  #over = false;
  /** To be called after renewals. */
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

  /** The call is over: its checks are forgotten. */
  over(): void {
    this.#over = true;
    if (this.#checks !== undefined) this.#settings.identity?.unwatch(this.#checks);
    this.#checks = undefined;
  }

  /** Returns the context that this call would have if its client made it now. */
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

  /** The caller has another schema of the method: the answer tells of ours. */
  tellSchema(): void {
    this.#heads().fingerprint = this.method.fingerprint;
  }

  get onceSettings(): OnceSettings | undefined {
    return this.#settings.once;
  }

  /** The caller is gone, or the deadline has passed. */
  get hasEnded(): boolean {
    return this.#reason !== undefined;
  }

  /** Throws the reason why the call has ended. */
  throwIfAborted(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Tells the server's hook of a failure that is not the call's. */
  report(error: unknown): void {
    this.#settings.onError(error, { method: fullName(this.method) });
  }

  /** Fires the signal, now or when it is first accessed. */
  abort(reason: RpcError): void {
    if (this.once === undefined) this.fence(reason);
  }

  /** Fires the signal also in a handler that its caller's end does not concern. */
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
 * Returns the principal of a call: the result of `principal`, or the connection value if it is a string; empty if
 * callers are not distinguished.
 *
 * @param unknown message of the error that is thrown if the principal cannot be determined
 */
export function principalOf(principal: PrincipalOf<never> | undefined, context: CallContext, unknown: string): string {
  if (principal !== undefined) return principal(context as CallContext<never>);
  const { connection } = context;
  if (connection === undefined) return "";
  if (typeof connection === "string") return connection;
  throw new Error(unknown);
}

/** The identity of a session's client, as it last proved it, for calls that started earlier. */
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

  /** Calls `watcher` after each renewal. */
  watch(watcher: () => void): void {
    this.watchers ??= new Set();
    this.watchers.add(watcher);
  }

  unwatch(watcher: () => void): void {
    this.watchers?.delete(watcher);
  }
}
