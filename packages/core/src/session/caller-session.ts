import { type AnyAnswer, BaseCaller, type Caller, type DuplexStream } from "../call/base-caller.js";
import type { CallPlaces } from "../call/call-places.js";
import { settledWithin } from "../call/expiries.js";
import type { CallOptions } from "../call/options.js";
import { failedCall } from "../client/calling.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import { DEFAULT_LIMITS } from "../limits.js";
import type { CloseInfo, DirectSession, DirectStream } from "../transport/session.js";
import type { ClosedSession, CloseOptions, DrainOptions, SessionEnd } from "./options.js";
import type { Session } from "./session.js";
import { young } from "../young.js";
import type { ItemStream } from "../call/items/item-stream.js";

/**
 * A client that makes calls by another protocol, such as HTTP. After it was closed, its `start` fails with
 * `unavailable`. An error has `refused` set if the server has not received the call.
 */
export interface ForeignClient extends Caller {
  /** Resolves when the client is closed and can make no more calls. Never rejects. */
  readonly closed: Promise<SessionEnd>;
  /** Closes the client. Calls in progress fail with `unavailable`. */
  close(info?: CloseInfo): void;
  /** Resolves when all calls in progress have ended. Default: `drain` does not wait for them. */
  idle?(): Promise<void>;
  /** Number of notifications that the server has not acknowledged. Default: 0, the protocol has no acknowledgements. */
  readonly unacknowledged?: number;
  /** Resolves when all notifications are acknowledged. Default: `close` does not wait for them. */
  acknowledged?(): Promise<void>;
  /**
   * Measures the server's response time and resolves with it, in milliseconds. Rejects if the server does not respond
   * or is not a quicrpc server. Default: the client cannot ping.
   */
  ping?(): Promise<number>;
}

/**
 * Returns a session whose calls `client` makes, so that connections and pools can use another protocol. The session
 * serves no calls and has no streams.
 */
export function createCallerSession(client: ForeignClient): Session<DirectSession> {
  return new CallerSession(client);
}

class CallerSession extends BaseCaller implements Session<DirectSession> {
  readonly transport: DirectSession;
  readonly closed: Promise<SessionEnd>;
  readonly draining: Promise<void>;
  readonly rttMs = undefined;
  readonly departure = undefined;
  takesCalls = true;
  /** Reason why no more calls can be made; undefined if they can. */
  private objection: string | undefined = undefined;
  /** Limits concurrent calls. Set by a connection; calls are counted only from then on. */
  places: CallPlaces | undefined = undefined;
  private calls = 0;
  private readonly client: ForeignClient;
  private stop!: (objection: string) => void;

  constructor(client: ForeignClient) {
    super();
    this.client = client;
    this.transport = new NoStreams(client);
    this.draining = new Promise((resolve) => {
      this.stop = young((objection) => {
        this.objection ??= objection;
        this.takesCalls = false;
        resolve();
      });
    });
    this.closed = client.closed.then((end) => {
      this.stop("the session has ended");
      return end;
    });
  }

  begin(method: AnyMethod, input: unknown, options: CallOptions | undefined): AnyAnswer {
    const { client, objection } = this;
    if (objection === undefined) return this.counted(method, client.start(method, input, options) as AnyAnswer);
    options?.attempt?.onMade();
    const error = new RpcError("unavailable", objection, { refused: true });
    return failedCall(method, input, error);
  }

  /** Counts a call as in progress until it ends, if a connection needs the count. */
  private counted(method: AnyMethod, response: AnyAnswer): AnyAnswer {
    const { places } = this;
    if (places === undefined) return response;
    this.calls++;
    return whenOver(method, response, () => {
      this.calls--;
      places.onCallOver();
    });
  }

  callsMade(): number {
    return this.calls;
  }

  get unacknowledged(): number {
    return this.client.unacknowledged ?? 0;
  }

  async close({ closeCode = 0, reason = "", timeoutMs }: CloseOptions = {}): Promise<ClosedSession> {
    this.stop("the session was closed");
    if (closeCode === 0) await this.within(timeoutMs ?? DEFAULT_LIMITS.maxAcknowledgeMs, this.client.acknowledged?.());
    const { unacknowledged } = this;
    this.client.close({ closeCode, reason });
    return { ...(await this.closed), unacknowledged };
  }

  async drain({ timeoutMs = DEFAULT_LIMITS.maxDrainMs }: DrainOptions = {}): Promise<ClosedSession> {
    this.stop("the session is being drained");
    await this.within(timeoutMs, this.client.idle?.());
    return this.close({ timeoutMs: 0 });
  }

  /** Waits until `done` resolves, the session is closed, or `timeoutMs` milliseconds have passed. */
  private async within(timeoutMs: number, done: Promise<void> | undefined): Promise<void> {
    if (done !== undefined) await settledWithin(timeoutMs, done, this.closed);
  }

  demandCredentials(): void {
    void this.drain();
  }

  ping(): Promise<number> {
    const { client } = this;
    if (client.ping !== undefined) return client.ping();
    return Promise.reject(new RpcError("unimplemented", "these calls are carried by a transport without pings"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

/** The transport of a session without streams. */
class NoStreams implements DirectSession {
  private readonly client: ForeignClient;

  constructor(client: ForeignClient) {
    this.client = client;
  }

  attach(): void {}

  openStream(): DirectStream {
    throw new Error("these calls are carried by a transport without streams");
  }

  close(info?: CloseInfo): void {
    this.client.close(info);
  }
}

/**
 * Calls `onOver` when a call has ended: with its error, or with undefined if it succeeded. Returns the promise or
 * stream to use in place of `response`.
 */
function whenOver(method: AnyMethod, response: AnyAnswer, onOver: (error: unknown) => void): AnyAnswer {
  if (method.kind === "server_stream") {
    (response as ItemStream<unknown>).whenOver(onOver);
    return response;
  }
  if (method.kind === "duplex") {
    (response as DuplexStream<unknown, unknown>).readable.whenOver(onOver);
    return response;
  }
  return (response as Promise<unknown>).then(
    (result) => {
      onOver(undefined);
      return result;
    },
    (error: unknown) => {
      onOver(error);
      throw error;
    },
  );
}
