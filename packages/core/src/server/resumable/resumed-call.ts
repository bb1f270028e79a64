import { DurableStream } from "../../call/durable/durable-stream.js";
import { type Expiry, reminders } from "../../call/expiries.js";
import { IncomingCallStream } from "../../call/incoming-stream.js";
import type { ReceiveFlow } from "../../call/items/flow.js";
import type { RequestHandler } from "../../call/carrier.js";
import { codeNumber } from "../../codes.js";
import { type Code, RpcError } from "../../errors.js";
import { type MemoryBudget, RESUMABLE_BYTES } from "../../memory-budget.js";
import { Channel, type ChannelSettings } from "../../transport/channel.js";
import type { Cursor } from "../../wire/cursor.js";
import type { ResumeFields } from "../../wire/piece.js";
import * as StreamKind from "../../wire/stream-kind.js";
import type { MovingBudget } from "./moving-budget.js";
import type { AttemptHost, ServedAttempt } from "./served-attempt.js";

/** The set of calls to which a resumed call belongs. */
export interface ResumedCallHost {
  /** Called when no session carries the call. Returns the budget that is charged for it from now on; undefined if it is not kept. */
  onSuspended(call: ResumedCall): MemoryBudget | undefined;
  onResumed(call: ResumedCall): void;
  onOver(call: ResumedCall): void;
}

/** The call's own stream on the serving side. */
class ResumedStream extends IncomingCallStream {
  private readonly durable: DurableStream;

  constructor(channel: Channel, requests: RequestHandler, onOver: () => void, durable: DurableStream) {
    super(channel, requests, onOver);
    this.durable = durable;
  }

  receiveFlow(): ReceiveFlow {
    return this.durable.receiveFlow;
  }
}

/**
 * The callee's side of a resumable call: it is served on a stream that outlives the attempts which carry it. Only the
 * latest attempt counts.
 */
export class ResumedCall implements AttemptHost {
  readonly key: string;
  /** Principal of the call; empty if callers are not distinguished. */
  readonly principal: string;
  /** The group of suspended calls to which it belongs. */
  group: unknown = undefined;
  private readonly durable: DurableStream = new DurableStream(StreamKind.Call, () => this.check());
  private readonly host: ResumedCallHost;
  private readonly budget: MovingBudget;
  private attempt: ServedAttempt | undefined = undefined;
  private epoch = 0;
  private keepMs = 0;
  /** Whether the call is over, although its caller may not know. */
  private served = false;
  private over = false;
  private expiry: Expiry | undefined = undefined;

  constructor(key: string, principal: string, host: ResumedCallHost, budget: MovingBudget) {
    this.key = key;
    this.principal = principal;
    this.host = host;
    this.budget = budget;
    budget.charge(RESUMABLE_BYTES);
  }

  /** Starts to serve the call with `requests`. */
  begin(attempt: ServedAttempt, fields: ResumeFields, requests: RequestHandler, settings: ChannelSettings): void {
    const serve = (channel: Channel): ResumedStream =>
      new ResumedStream(
        channel,
        requests,
        () => {
          this.served = true;
          this.check();
        },
        this.durable,
      );
    this.durable.attach(Channel.accept(this.durable, serve, { ...settings, budget: this.budget }));
    this.carriedBy(attempt, fields);
  }

  /** Returns the reason why `fields` cannot resume the call; undefined if they can. */
  objection({ epoch, received, retained }: ResumeFields): RpcError | undefined {
    if (epoch <= this.epoch)
      return new RpcError("aborted", `the call was resumed by another session (epoch ${this.epoch})`);
    const { durable } = this;
    if (durable.canSendFrom(received) && retained <= durable.received) return undefined;
    return new RpcError(
      "data_loss",
      "cannot resume: data between the positions of the two sides was already discarded",
    );
  }

  /** Continues the call on the next attempt. An attempt that still carries it is ended. */
  resume(attempt: ServedAttempt, fields: ResumeFields, budget: MemoryBudget): void {
    const before = this.attempt;
    this.attempt = undefined;
    before?.refuse(new RpcError("aborted", "another session has resumed the call"));
    this.unsuspend();
    this.budget.moveTo(budget);
    this.carriedBy(attempt, fields);
  }

  onPiece(attempt: ServedAttempt, cursor: Cursor): void {
    if (attempt !== this.attempt) return;
    this.durable.onPiece(cursor);
  }

  onCancel(attempt: ServedAttempt, code: Code): void {
    if (attempt === this.attempt) this.giveUp(code);
  }

  onLost(attempt: ServedAttempt): void {
    if (attempt !== this.attempt) return;
    this.attempt = undefined;
    this.durable.detach();
    const budget = this.host.onSuspended(this);
    if (budget === undefined) {
      this.giveUp("cancelled");
      return;
    }
    this.expiry = reminders.add(this.keepMs, () => this.giveUp("cancelled"));
    if (!this.budget.moveTo(budget)) this.giveUp("resource_exhausted");
  }

  /** Ends the call because its caller may not continue it, unless a session still carries it. */
  forsake(code: Code): void {
    if (this.attempt === undefined) this.giveUp(code);
  }

  /** Ends the call because its caller may not continue it, which was found while `attempt` carries it. */
  revoke(attempt: ServedAttempt, error: RpcError): void {
    if (attempt === this.attempt) this.end(error);
  }

  /** Ends the call here, and notifies its caller if possible. */
  giveUp(code: Code): void {
    this.end(new RpcError(code, "the call was given up"));
  }

  private end(error: RpcError): void {
    if (this.over) return;
    const { attempt } = this;
    this.attempt = undefined;
    this.durable.detach();
    attempt?.refuse(error);
    this.finish(error.code);
  }

  private carriedBy(attempt: ServedAttempt, { epoch, keepMs, received }: ResumeFields): void {
    this.attempt = attempt;
    this.epoch = epoch;
    this.keepMs = keepMs;
    attempt.host = this;
    this.durable.carriedBy(attempt, received, true);
    this.check();
  }

  private unsuspend(): void {
    if (this.expiry !== undefined) reminders.remove(this.expiry);
    this.expiry = undefined;
    this.host.onResumed(this);
  }

  /** Ends the call if it is over and its caller knows it. */
  private check(): void {
    const { attempt, over, served, durable } = this;
    if (over || attempt === undefined || !served || !durable.settled) return;
    this.attempt = undefined;
    attempt.end();
    this.finish("cancelled");
  }

  private finish(code: Code): void {
    this.over = true;
    this.unsuspend();
    this.durable.abort(codeNumber(code));
    this.host.onOver(this);
    this.budget.release(RESUMABLE_BYTES);
  }
}
