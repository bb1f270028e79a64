import { type Code, RpcError } from "@quicrpc/core";
import {
  Channel,
  type ChannelSettings,
  codeNumber,
  type Cursor,
  type Expiry,
  IncomingCallStream,
  type MemoryBudget,
  type ReceiveFlow,
  reminders,
  type RequestHandler,
  StreamKind,
} from "@quicrpc/core/internal";
import { DurableStream } from "./durable-stream.js";
import type { MovingBudget } from "./moving-budget.js";
import type { ResumeFields } from "./pieces.js";
import type { ServedAttempt } from "./served-attempt.js";
import type { ResumableCalls } from "./suspended-calls.js";

/**
 * Number of bytes charged for a resumable call in addition to an ordinary call: for its stream, and for the state that
 * outlives a session.
 */
export const RESUMABLE_BYTES = 6144;

class ResumedStream extends IncomingCallStream {
  readonly #durable: DurableStream;

  constructor(channel: Channel, requests: RequestHandler, onOver: () => void, durable: DurableStream) {
    super(channel, requests, onOver);
    this.#durable = durable;
  }

  receiveFlow(): ReceiveFlow {
    return this.#durable.receiveFlow;
  }
}

/**
 * A resumable call on the server. Its byte stream outlives the attempts that carry it. Only the latest attempt is used.
 */
export class ResumedCall {
  readonly key: string;
  /** Principal of the call. Empty if the server does not distinguish callers. */
  readonly principal: string;
  /** Name of the group of suspended calls that the call belongs to. */
  group: unknown = undefined;
  readonly #durable: DurableStream = new DurableStream(StreamKind.Call, () => this.#check());
  readonly #calls: ResumableCalls;
  readonly #budget: MovingBudget;
  #attempt: ServedAttempt | undefined = undefined;
  #epoch = 0;
  #keepMs = 0;
  /** True if the call has ended, although its caller may not know that yet. */
  #hasResponded = false;
  #isOver = false;
  #expiry: Expiry | undefined = undefined;

  constructor(key: string, principal: string, calls: ResumableCalls, budget: MovingBudget) {
    this.key = key;
    this.principal = principal;
    this.#calls = calls;
    this.#budget = budget;
    budget.charge(RESUMABLE_BYTES);
  }

  /** Starts to serve the call. `requests` handles the request on the call's stream. */
  begin(attempt: ServedAttempt, fields: ResumeFields, requests: RequestHandler, settings: ChannelSettings): void {
    const serve = (channel: Channel): ResumedStream =>
      new ResumedStream(
        channel,
        requests,
        () => {
          this.#hasResponded = true;
          this.#check();
        },
        this.#durable,
      );
    this.#durable.attach(Channel.accept(this.#durable, serve, { ...settings, budget: this.#budget }));
    this.#carriedBy(attempt, fields);
  }

  /** Returns the reason why an attempt with these fields cannot resume the call, or undefined if it can. */
  objection({ epoch, received, retained }: ResumeFields): RpcError | undefined {
    if (epoch <= this.#epoch)
      return new RpcError("aborted", `the call was resumed by another session (epoch ${this.#epoch})`);
    const durable = this.#durable;
    if (durable.canSendFrom(received) && retained <= durable.received) return undefined;
    return new RpcError(
      "data_loss",
      "cannot resume: data between the positions of the two sides was already discarded",
    );
  }

  /** Continues the call on a new attempt. Ends the previous attempt if it is still in progress. */
  resume(attempt: ServedAttempt, fields: ResumeFields, budget: MemoryBudget): void {
    const before = this.#attempt;
    this.#attempt = undefined;
    before?.refuse(new RpcError("aborted", "another session has resumed the call"));
    this.#leaveSuspension();
    this.#budget.moveTo(budget);
    this.#carriedBy(attempt, fields);
  }

  onPiece(attempt: ServedAttempt, cursor: Cursor): void {
    if (attempt !== this.#attempt) return;
    this.#durable.onPiece(cursor);
  }

  onCancel(attempt: ServedAttempt, code: Code): void {
    if (attempt === this.#attempt) this.cancel(code);
  }

  /** Suspends the call, because the session of its attempt has ended. */
  onLost(attempt: ServedAttempt): void {
    if (attempt !== this.#attempt) return;
    this.#attempt = undefined;
    this.#durable.detach();
    const budget = this.#calls.onSuspended(this);
    if (budget === undefined) {
      this.cancel("cancelled");
      return;
    }
    this.#expiry = reminders.add(this.#keepMs, () => this.cancel("cancelled"));
    if (!this.#budget.moveTo(budget)) this.cancel("resource_exhausted");
  }

  /** Cancels the call because its caller may no longer continue it. Does nothing if a session carries the call. */
  cancelIfDetached(code: Code): void {
    if (this.#attempt === undefined) this.cancel(code);
  }

  /**
   * Ends the call with `error`, because its caller may no longer continue it. Does nothing if another attempt than
   * `attempt` carries the call.
   */
  revoke(attempt: ServedAttempt, error: RpcError): void {
    if (attempt === this.#attempt) this.#end(error);
  }

  /** Ends the call on the server, and notifies its caller if a session carries it. */
  cancel(code: Code): void {
    this.#end(new RpcError(code, "the call was given up"));
  }

  #end(error: RpcError): void {
    if (this.#isOver) return;
    const attempt = this.#attempt;
    this.#attempt = undefined;
    this.#durable.detach();
    attempt?.refuse(error);
    this.#finish(error.code);
  }

  #carriedBy(attempt: ServedAttempt, { epoch, keepMs, received }: ResumeFields): void {
    this.#attempt = attempt;
    this.#epoch = epoch;
    this.#keepMs = keepMs;
    attempt.call = this;
    this.#durable.carriedBy(attempt, received, true);
    this.#check();
  }

  #leaveSuspension(): void {
    if (this.#expiry !== undefined) reminders.remove(this.#expiry);
    this.#expiry = undefined;
    this.#calls.onResumed(this);
  }

  /** Removes the call if it has ended and its caller knows that. */
  #check(): void {
    const attempt = this.#attempt;
    if (this.#isOver || attempt === undefined || !this.#hasResponded || !this.#durable.settled) return;
    this.#attempt = undefined;
    attempt.end();
    this.#finish("cancelled");
  }

  #finish(code: Code): void {
    this.#isOver = true;
    this.#leaveSuspension();
    this.#durable.abort(codeNumber(code));
    this.#calls.onOver(this);
    this.#budget.release(RESUMABLE_BYTES);
  }
}
