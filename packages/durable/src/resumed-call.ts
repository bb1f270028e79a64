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

/** Bytes charged for a resumable call, in addition to the call: for its stream, and for the state that outlives a session. */
export const RESUMABLE_BYTES = 6144;

/** The call's own stream on the serving side. */
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
 * The callee's side of a resumable call: it is served on a stream that outlives the attempts which carry it. Only the
 * latest attempt counts.
 */
export class ResumedCall {
  readonly key: string;
  /** Principal of the call; empty if callers are not distinguished. */
  readonly principal: string;
  /** The group of suspended calls to which it belongs. */
  group: unknown = undefined;
  readonly #durable: DurableStream = new DurableStream(StreamKind.Call, () => this.#check());
  readonly #calls: ResumableCalls;
  readonly #budget: MovingBudget;
  #attempt: ServedAttempt | undefined = undefined;
  #epoch = 0;
  #keepMs = 0;
  /** Whether the call is over, although its caller may not know. */
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

  /** Starts to serve the call with `requests`. */
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

  /** Returns the reason why `fields` cannot resume the call; undefined if they can. */
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

  /** Continues the call on the next attempt. An attempt that still carries it is ended. */
  resume(attempt: ServedAttempt, fields: ResumeFields, budget: MemoryBudget): void {
    const before = this.#attempt;
    this.#attempt = undefined;
    before?.refuse(new RpcError("aborted", "another session has resumed the call"));
    this.#leaveSuspension();
    this.#budget.moveTo(budget);
    this.#carriedBy(attempt, fields);
  }

  /** Throws if the piece is malformed. */
  onPiece(attempt: ServedAttempt, cursor: Cursor): void {
    if (attempt !== this.#attempt) return;
    this.#durable.onPiece(cursor);
  }

  /** Called when the caller has cancelled the call. */
  onCancel(attempt: ServedAttempt, code: Code): void {
    if (attempt === this.#attempt) this.cancel(code);
  }

  /** Called when the session of the attempt has ended. */
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

  /** Ends the call because its caller may not continue it, unless a session still carries it. */
  cancelIfDetached(code: Code): void {
    if (this.#attempt === undefined) this.cancel(code);
  }

  /** Ends the call because its caller may not continue it, which was found while `attempt` carries it. */
  revoke(attempt: ServedAttempt, error: RpcError): void {
    if (attempt === this.#attempt) this.#end(error);
  }

  /** Ends the call here, and notifies its caller if possible. */
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

  /** Ends the call if it is over and its caller knows it. */
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
