import { type AnyAnswer, BaseCaller } from "../call/base-caller.js";
import type { Caller } from "../call/caller.js";
import type { CallOptions } from "../call/options.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS } from "../limits.js";
import type { CloseInfo, DirectSession, DirectStream } from "../transport/session.js";
import type { ClosedSession, CloseOptions, DrainOptions, SessionEnd } from "./options.js";
import type { Session } from "./session.js";

/**
 * A client that carries calls by a protocol of its own, such as HTTP, rather than by this library's on a transport. Its `start`
 * fails with `unavailable` once it is closed, and with `refused` where the server has not seen the call.
 */
export interface ForeignClient extends Caller {
  /** Resolves when no more calls can be made. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /** Ends it: calls in progress fail with `unavailable`. */
  close(info?: CloseInfo): void;
  /** Resolves when the calls in progress are over. Default: nobody waits for them. */
  idle?(): Promise<void>;
  /** Resolves with the milliseconds that the server took to answer; rejects where it does not, or is another program. Default: it cannot be asked. */
  ping?(): Promise<number>;
}

/**
 * The face of a session for what carries calls by itself, so that connections and pools take it like any other. The client calls,
 * and nobody else: nothing is served, there are no streams.
 */
export function createCallerSession(client: ForeignClient): Session<DirectSession> {
  return new CallerSession(client);
}

class CallerSession extends BaseCaller implements Session<DirectSession> {
  readonly transport: DirectSession;
  readonly closed: Promise<SessionEnd>;
  readonly draining: Promise<void>;
  readonly unacknowledged = 0;
  readonly rttMs = undefined;
  takesCalls = true;
  private readonly client: ForeignClient;
  private stop!: () => void;

  constructor(client: ForeignClient) {
    super();
    this.client = client;
    this.transport = new NoStreams(client);
    this.draining = new Promise((resolve) => {
      this.stop = () => {
        this.takesCalls = false;
        resolve();
      };
    });
    this.closed = client.closed.then((end) => {
      this.stop();
      return end;
    });
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    return this.client.start(method, input, options) as AnyAnswer;
  }

  async close({ closeCode = 0, reason = "" }: CloseOptions = {}): Promise<ClosedSession> {
    this.stop();
    this.client.close({ closeCode, reason });
    return { ...(await this.closed), unacknowledged: 0 };
  }

  async drain({ timeoutMs = DEFAULT_LIMITS.maxDrainMs }: DrainOptions = {}): Promise<ClosedSession> {
    this.stop();
    const timer =
      timeoutMs === undefined || timeoutMs === Infinity ? undefined : setTimeout(() => void this.close(), timeoutMs);
    await Promise.race([this.client.idle?.(), this.closed]);
    clearTimeout(timer);
    return this.close();
  }

  ping(): Promise<number> {
    const { client } = this;
    if (client.ping !== undefined) return client.ping();
    return Promise.reject(new RpcError("unimplemented", "what carries these calls has no pings"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** A transport without streams. */
class NoStreams implements DirectSession {
  private readonly client: ForeignClient;

  constructor(client: ForeignClient) {
    this.client = client;
  }

  attach(): void {}

  openStream(): DirectStream {
    throw new Error("what carries these calls has no streams");
  }

  close(info?: CloseInfo): void {
    this.client.close(info);
  }
}
