import type { Caller } from "../call/caller.js";
import type { AnyMethod } from "../contract/descriptor.js";
import type { RpcError } from "../errors.js";

/** What a handler knows of its call. */
export interface CallContext<Context = unknown> {
  /** Fires when the caller gives up, the deadline passes or the session ends; the reason is an `RpcError`. */
  readonly signal: AbortSignal;
  /** When the caller stops waiting, in milliseconds since the epoch by this side's clock; undefined: never. */
  readonly deadline: number | undefined;
  /** The method that was called. */
  readonly method: AnyMethod;
  /** Calls back to the caller, over the same session. */
  readonly session: Caller;
  /** What the application keeps for the connection. */
  readonly connection: Context;
}

/** The context of one call; its signal is made only if it is looked at, since making one costs more than a small call. */
export class IncomingContext<Context> implements CallContext<Context> {
  readonly deadline: number | undefined;
  readonly method: AnyMethod;
  readonly session: Caller;
  readonly connection: Context;
  #controller: AbortController | undefined;
  #reason: RpcError | undefined;

  constructor(method: AnyMethod, timeoutMs: number | undefined, session: Caller, connection: Context) {
    this.method = method;
    this.deadline = timeoutMs === undefined ? undefined : Date.now() + timeoutMs;
    this.session = session;
    this.connection = connection;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Fires the signal, now or when it is first looked at. */
  abort(reason: RpcError): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
  }
}
