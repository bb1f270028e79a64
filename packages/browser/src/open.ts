import { RpcError, type TransportError } from "@quicrpc/core";
import { ForbiddenError } from "./policy.js";
import { FORBIDDEN, type UnreachedCode, unreached } from "./unreached.js";
import type { Opener, OpenTransport, TransportInUse } from "./transport.js";

/** A transport that may be tried. */
export interface Candidate {
  readonly kind: TransportInUse["kind"];
  readonly name: string;
  readonly open: Opener;
}

/** The candidate that follows when the first one fails or is slow. */
interface Fallback extends Candidate {
  /** Milliseconds for which the first is tried alone. */
  readonly afterMs: number;
}

/** How a transport is opened. */
export interface OpenOptions {
  readonly first: Candidate;
  readonly fallback: Fallback | undefined;
  /** Whether the first has worked before: its silence then says little about the network. Default false. */
  readonly worked?: boolean;
  /** The URL in messages. */
  readonly url: string;
  /** Milliseconds for all of it. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a session over the first transport, or else over the fallback, which is tried as soon as that has failed or has
 * not answered for `afterMs`: the first that is ready wins, and the other is closed. Where UDP is blocked nothing says
 * so, and a browser would wait for half a minute. Rejects with a `TransportError` that says
 * what became of each.
 */
export function openTransport(options: OpenOptions): Promise<OpenTransport> {
  return new Promise((resolve, reject) => new Race(options, resolve, reject).start());
}

class Race {
  private readonly options: OpenOptions;
  private readonly resolve: (transport: OpenTransport) => void;
  private readonly reject: (error: Error) => void;
  private readonly attempts: Map<TransportInUse["kind"], AbortController> = new Map();
  private readonly failures: string[] = [];
  private readonly causes: unknown[] = [];
  private headStart: ReturnType<typeof setTimeout> | undefined = undefined;
  private timeout: ReturnType<typeof setTimeout> | undefined = undefined;
  /** Why it is not the first, should the fallback win; undefined before it is tried. */
  private reason: string | undefined = undefined;
  /** The first has not answered within its head start. */
  private late = false;
  private over = false;

  private readonly onAbort = (): void => {
    const { reason } = this.options.signal;
    this.lose(reason instanceof Error ? reason : new RpcError("cancelled", "connecting was given up"));
  };

  constructor(options: OpenOptions, resolve: (transport: OpenTransport) => void, reject: (error: Error) => void) {
    this.options = options;
    this.resolve = resolve;
    this.reject = reject;
  }

  start(): void {
    const { first, fallback, worked = false, signal, timeoutMs } = this.options;
    signal.addEventListener("abort", this.onAbort);
    if (signal.aborted) {
      this.onAbort();
      return;
    }
    this.timeout = setTimeout(() => this.expire(), timeoutMs);
    if (fallback !== undefined) {
      const known = worked ? ", though it did before" : ": UDP may be blocked";
      const because = `${first.name} did not answer within ${fallback.afterMs} ms${known}`;
      this.headStart = setTimeout(() => {
        this.late = true;
        this.fallBack(because);
      }, fallback.afterMs);
    }
    this.attempt(first);
  }

  private fallBack(because: string): void {
    const { fallback } = this.options;
    if (fallback === undefined || this.reason !== undefined) return;
    clearTimeout(this.headStart);
    this.reason = because;
    this.attempt(fallback);
  }

  private attempt({ kind, name, open }: Candidate): void {
    const controller = new AbortController();
    this.attempts.set(kind, controller);
    open(controller.signal).then(
      (transport) => {
        if (this.over) return;
        this.attempts.delete(kind);
        this.finish();
        this.resolve({
          kind,
          transport,
          late: this.late,
          reason: kind === this.options.first.kind ? undefined : this.reason,
        });
      },
      (error: unknown) => {
        if (!this.over) this.failed(kind, name, error);
      },
    );
  }

  private failed(kind: TransportInUse["kind"], name: string, error: unknown): void {
    this.attempts.delete(kind);
    const why = error instanceof Error && error.message !== "" ? error.message : String(error);
    const failure = `${name} failed: ${why}`;
    this.failures.push(failure);
    if (kind === this.options.first.kind) this.fallBack(failure);
    const expected = this.options.fallback === undefined ? 1 : 2;
    this.causes.push(error);
    if (this.failures.length < expected) return;
    const forbidden = this.causes.every((cause) => cause instanceof ForbiddenError);
    this.lose(this.failure(forbidden ? FORBIDDEN : "ERR_UNREACHABLE", this.failures));
  }

  private expire(): void {
    const failures = [`no session within ${this.options.timeoutMs} ms`, ...this.failures];
    this.lose(this.failure("ETIMEDOUT", failures));
  }

  private failure(code: UnreachedCode, reasons: readonly string[]): TransportError {
    const [first, ...more] = this.causes;
    return unreached(this.options.url, code, reasons, more.length === 0 ? first : new AggregateError(this.causes));
  }

  private lose(error: Error): void {
    this.finish();
    this.reject(error);
  }

  /** Closes what has not won. */
  private finish(): void {
    this.over = true;
    clearTimeout(this.headStart);
    clearTimeout(this.timeout);
    this.options.signal.removeEventListener("abort", this.onAbort);
    for (const attempt of this.attempts.values()) attempt.abort(new Error("another transport was faster"));
  }
}
