import type { AnswerCarrier, IncomingCall } from "../call/carrier.js";
import { expiries, type Expiry } from "../call/expiries.js";
import { faultOf } from "../call/fault.js";
import { SendFlow } from "../call/items/flow.js";
import { ItemReceiver } from "../call/items/item-receiver.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { codecIn, sendHead, sendMessage } from "../call/messages/payload.js";
import { bytePieceOf } from "../call/items/byte-pieces.js";
import { type ItemTarget, sendItems } from "../call/items/send-items.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import { fullName, isTunnel } from "../contract/descriptor.js";
import { type Code, ProtocolError, RpcError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import { isEndOfSession } from "../transport/close-codes.js";
import { writeFault } from "../wire/fault.js";
import { FLAG_HEAD, type Frame } from "../wire/frame.js";
import type { HeadFields } from "../wire/head.js";
import type { Admission } from "./admission.js";
import { AnswerHeads } from "./answer-heads.js";
import type { IncomingContext } from "./context.js";
import * as FrameType from "../wire/frame-type.js";

/** By which a timer may be early, by the clock of dates. */
const CLOCK_SLACK_MS = 2;

/** Settings of a reply. */
export interface ReplySettings {
  readonly limits: Limits;
  readonly schemas: SchemaHandshake;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
}

/** Sends the answer of one incoming call: a response or an error, or items and an end. Nothing follows the last frame. */
export class Reply implements IncomingCall, ItemTarget {
  /** The last frame was sent, or there is nobody to send it to. */
  over = false;
  /** Called once when the call is given up, before its end. */
  onGivenUp: (() => void) | undefined;
  private sendFlow: SendFlow | undefined;
  private readonly carrier: AnswerCarrier;
  private readonly id: number;
  private readonly context: IncomingContext<unknown> | undefined;
  private readonly settings: ReplySettings;
  private expiry: Expiry | undefined;
  private entered = false;
  /** The handler has returned, or the items that it gave have ended. */
  private settled = false;
  /** To be called when the handler has settled, where the call was over before. */
  private onOutlived: (() => void) | undefined;
  /** Takes a call that waits for its turn out of the queue. */
  private unwait: (() => void) | undefined;
  /** Charged for the call until both it and its handler have ended. */
  private readonly bytes: number;
  private input: ItemReceiver | undefined;
  private inputEnded = false;
  /** This side's items have ended; the call goes on for the caller's. */
  private halfEnded = false;

  constructor(
    carrier: AnswerCarrier,
    id: number,
    context: IncomingContext<unknown> | undefined,
    settings: ReplySettings,
    bytes: number = 0,
  ) {
    this.bytes = bytes;
    this.carrier = carrier;
    this.id = id;
    this.context = context;
    this.settings = settings;
    if (context !== undefined) context.reply = this;
  }

  /** When the next item may be sent. */
  get flow(): SendFlow {
    this.sendFlow ??= new SendFlow(this.carrier);
    return this.sendFlow;
  }

  /** The call goes on after its request: cancels, credit and the deadline reach it from now on. */
  goesOn(): void {
    if (this.entered) return;
    this.entered = true;
    this.settings.admission.begin();
    this.enter();
  }

  /** The call goes on, and `start` runs when it is its turn. */
  wait(start: () => void): void {
    this.entered = true;
    this.unwait = this.settings.admission.wait(() => {
      this.unwait = undefined;
      start();
    });
    this.enter();
  }

  private enter(): void {
    this.carrier.enter(this.id, this);
    if (this.over) return;
    const deadline = this.context?.deadline;
    if (deadline === undefined) return;
    const expire = (): void => this.giveUp(new RpcError("deadline_exceeded", "the deadline has passed"), false);
    this.expiry = expiries.add(deadline - Date.now(), expire);
  }

  /** Sends what a promise resolves to. */
  later(result: PromiseLike<unknown>): void {
    this.goesOn();
    result.then(
      (value) => this.returned(value),
      (error: unknown) => this.threw(error),
    );
  }

  /** The handler has returned the result of a unary call. */
  returned(result: unknown): void {
    this.onSettled();
    if (this.over) return;
    try {
      this.message(FrameType.Response, result, this.carrier.single, this.context?.answerHeads?.last());
    } catch (error) {
      this.fail(this.misfit(error));
      return;
    }
    this.finish();
  }

  /** The handler has failed. */
  threw(error: unknown): void {
    this.onSettled();
    this.fail(error);
  }

  /** The call's place is free once both the call and its handler have ended. */
  onSettled(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.onOutlived === undefined) return;
    this.onOutlived();
    this.leave();
  }

  /** Sends the response metadata, unless it has been sent. */
  sendMetadata(): void {
    const head = this.over ? undefined : this.context?.answerHeads?.first();
    if (head !== undefined) sendHead(this.carrier.channel, FrameType.Headers, this.id, head, false);
  }

  /** Sends one message of a stream. */
  item(item: unknown): void {
    if (this.over) return;
    this.sendMetadata();
    try {
      this.flow.spend(this.message(FrameType.Item, item, false));
    } catch (error) {
      throw this.misfit(error);
    }
  }

  /** The most bytes of an item, where items are raw bytes. */
  get rawPiece(): number | undefined {
    return bytePieceOf(this.context?.method.output, this.settings.limits);
  }

  /** Ends the items well, and the call with them, unless it is a tunnel whose handler still reads. */
  end(): void {
    if (this.over) return;
    this.halfEnded = this.readsOn();
    this.onGivenUp = undefined;
    if (this.halfEnded) sendHead(this.carrier.channel, FrameType.HalfEnd, this.id, undefined, false);
    else this.endCall();
  }

  /** Ends the call with an error. Only an `RpcError` says to the caller what went wrong. */
  fail(error: unknown): void {
    if (this.over) return;
    const told = this.tellable(error);
    this.sendFault(told, this.headOfError(told));
  }

  /** Ends a call that no handler was entered for. */
  refuse(error: RpcError, fingerprint?: number): void {
    const { refused } = error;
    const leaving = isEndOfSession(error);
    this.sendFault(error, refused || fingerprint !== undefined ? { refused, leaving, fingerprint } : undefined);
  }

  /** Sends all that a streaming handler gave. */
  stream(result: unknown): void {
    this.carrier.channel.coalesce();
    this.goesOn();
    void sendItems(this, result);
  }

  /** The items that the caller streams, for the handler. */
  receiveItems(): ItemStream<unknown> {
    this.input = new ItemReceiver(this.settings.limits, () => {
      if (this.halfEnded) this.endCall();
      else this.carrier.stopItems();
    });
    this.input.carriedBy(this.carrier, this.id, codecIn(this.carrier.peerFormat, this.context?.method.input));
    this.goesOn();
    return this.input.stream;
  }

  onItem(frame: Frame): void {
    if (this.input === undefined) {
      // By the caller's schema the method may stream: only this call is wrong.
      this.giveUp(new RpcError("unimplemented", `${this.methodName()} takes one message here, not a stream`), false);
      return;
    }
    try {
      this.input.receive(frame);
    } catch (error) {
      if (error instanceof ProtocolError) throw error;
      this.giveUp(this.explained(RpcError.from(error, "invalid_argument")), false);
    }
  }

  onBadItem(error: RpcError): void {
    this.giveUp(error, false);
  }

  onItemsEnd(): void {
    this.inputEnded = true;
    this.input?.end(undefined);
    if (this.halfEnded) this.endCall();
  }

  onCancel(code: Code, lost: boolean): void {
    this.giveUp(new RpcError(code, lost ? "the caller is gone" : "the caller gave the call up"), lost);
  }

  onCredit(bytes: number): void {
    this.flow.grant(bytes);
  }

  private giveUp(reason: RpcError, lost: boolean): void {
    if (this.over) return;
    this.input?.end(reason);
    // First the answer, so that nothing a listener of the signal does can come before it.
    if (lost) this.finish();
    else this.fail(reason);
    this.context?.abort(reason);
    this.onGivenUp?.();
  }

  private readsOn(): boolean {
    if (this.input === undefined || this.inputEnded || this.context === undefined) return false;
    return isTunnel(this.context.method) && this.input.stream.locked;
  }

  /** The last items have been sent, and those of the caller are over or not wanted. */
  private endCall(): void {
    if (this.over) return;
    try {
      const head = this.context?.answerHeads?.last();
      sendHead(this.carrier.channel, FrameType.End, this.id, head, this.carrier.single);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.finish();
  }

  private message(type: number, value: unknown, end: boolean, head?: HeadFields): number {
    const { maxFrameBytes } = this.settings.limits;
    const { channel, peerFormat } = this.carrier;
    channel.requireRoom();
    const codec = codecIn(peerFormat, this.context?.method.output);
    return sendMessage(channel, type, this.id, codec, value, maxFrameBytes, end, head, this.context?.compress);
  }

  private explained(error: RpcError): RpcError {
    return this.context === undefined ? error : this.settings.schemas.explain(this.context.method, error);
  }

  private sendFault(error: RpcError, head: HeadFields | undefined): void {
    const { channel, single } = this.carrier;
    const fault = faultOf(error, this.context?.method, head, (misfit) => this.tellHook(misfit));
    const mark = channel.begin(fault.head === undefined ? FrameType.Error : FrameType.Error | FLAG_HEAD, this.id);
    const start = writeFault(channel.out, fault, this.settings.limits);
    channel.compression?.shrink(channel.out, mark, start, this.context?.compress);
    channel.commit(mark, single);
    this.finish();
  }

  /** Metadata that is too large must not cost the caller the error. */
  private headOfError(error: RpcError): HeadFields | undefined {
    const heads = this.context?.answerHeads;
    if (heads === undefined && error.metadata.size === 0) return undefined;
    try {
      return (heads ?? new AnswerHeads(this.settings.limits.maxMetadataBytes)).last(error);
    } catch (tooLarge) {
      if (tooLarge !== error) this.tellHook(tooLarge);
      return undefined;
    }
  }

  private finish(): void {
    this.over = true;
    if (this.expiry !== undefined) expiries.remove(this.expiry);
    this.sendFlow?.end();
    if (this.input !== undefined && !this.inputEnded) this.endInput(this.input);
    this.carrier.leave(this.id);
    if (this.unwait !== undefined) {
      this.release();
      this.unwait();
    } else if (this.settled || !this.entered) {
      this.leave();
    } else {
      this.onOutlived = this.settings.admission.outlive(this.methodName());
    }
  }

  /** The call and its handler have ended. */
  private leave(): void {
    this.release();
    if (this.entered) this.settings.admission.end();
  }

  private release(): void {
    this.input?.releaseAll();
    if (this.bytes > 0) this.settings.budget.release(this.bytes);
  }

  onFinished(): void {
    if (this.input === undefined || this.inputEnded) return;
    this.giveUp(new RpcError("invalid_argument", "the caller's stream ended before its items did"), false);
  }

  /** The call is over before the caller's items are: a handler that still reads them is told. */
  private endInput(input: ItemReceiver): void {
    input.end(new RpcError("cancelled", "the call is over"));
    this.carrier.stopItems();
  }

  private misfit(error: unknown): Error {
    const { code, message } = RpcError.from(error);
    // Not a misfit: a limit of the frame or the metadata, or a codec that is not known here.
    if (code === "resource_exhausted" || code === "unimplemented") return error as RpcError;
    return new Error(`the result does not fit its schema: ${message}`, { cause: error });
  }

  private tellable(error: unknown): RpcError {
    if (error instanceof RpcError && !error.fromCall) return error;
    this.tellHook(error);
    if (!(error instanceof RpcError)) return new RpcError("internal", "the handler failed");
    if (this.isLate(error)) return new RpcError("deadline_exceeded", "the deadline has passed");
    if (error.code === "unavailable") return new RpcError("unavailable", "what the handler calls is unavailable");
    return new RpcError("internal", "the handler failed: so did a call that it made");
  }

  /** Whether a call that the handler made ended by the deadline of this one. */
  private isLate({ code }: RpcError): boolean {
    const deadline = this.context?.deadline;
    return code === "deadline_exceeded" && deadline !== undefined && Date.now() >= deadline - CLOCK_SLACK_MS;
  }

  private tellHook(error: unknown): void {
    this.settings.onError(error, { method: this.methodName() });
  }

  private methodName(): string {
    return this.context === undefined ? "unknown" : fullName(this.context.method);
  }
}
