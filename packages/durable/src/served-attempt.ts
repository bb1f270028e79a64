import { type Code, RpcError } from "@quicrpc/core";
import type { AnyMethod } from "@quicrpc/core/generated";
import {
  type AnswerCarrier,
  type Frame,
  FrameType,
  fullName,
  gatherFrames,
  type IncomingCall,
  type ReceiveFlow,
  receiveFlowOf,
  Reply,
  type ReplySettings,
  SendFlow,
  sendHead,
} from "@quicrpc/core/internal";
import type { Pipe } from "./durable-stream.js";
import { flushPieces, pieceCursor, type PieceFields, sendPiece } from "./pieces.js";
import type { ResumedCall } from "./resumed-call.js";

/** One attempt of a resumable call on the server. Call `enter` first, and then `end` or `refuse`. */
export class ServedAttempt implements IncomingCall, Pipe {
  readonly flow: SendFlow;
  call: ResumedCall | undefined = undefined;
  onOver: (() => void) | undefined = undefined;
  readonly #carrier: AnswerCarrier;
  readonly #id: number;
  readonly #method: string;
  readonly #settings: ReplySettings;
  readonly #releaseAdmission: () => void;
  readonly #receiving: ReceiveFlow;
  #isOver = false;
  #deciding = false;
  /** Called with the decision about the attempt if the attempt has ended before that. */
  #outlived: (() => void) | undefined = undefined;

  constructor(carrier: AnswerCarrier, id: number, method: AnyMethod, settings: ReplySettings) {
    this.#carrier = carrier;
    this.#id = id;
    this.#method = fullName(method);
    this.#settings = settings;
    this.flow = new SendFlow(carrier);
    this.#receiving = receiveFlowOf(carrier, id);
    this.#releaseAdmission = settings.admission.attach();
    // Frames of the call and of the attempt are written at the same time, so they need separate writers.
    gatherFrames(carrier.channel);
  }

  enter(): void {
    this.#carrier.enter(this.#id, this);
  }

  /**
   * Notes that a decision about the attempt is pending. The attempt counts as in progress until the returned function
   * is called, even if it ends before that. This way, the limit on calls also limits slow decisions.
   */
  decide(): () => void {
    this.#deciding = true;
    return () => {
      this.#deciding = false;
      this.#outlived?.();
      if (this.#isOver) this.#releaseAdmission();
    };
  }

  get idle(): boolean {
    return this.#carrier.channel.out.idle;
  }

  /** True if nothing more can be sent on the attempt. */
  get isOver(): boolean {
    return this.#isOver;
  }

  send(fields: PieceFields, bytes: Uint8Array): void {
    if (!this.#isOver) this.flow.spend(sendPiece(this.#carrier.channel, this.#id, fields, bytes));
  }

  flush(): void {
    if (!this.#isOver) flushPieces(this.#carrier);
  }

  end(): void {
    if (this.#isOver) return;
    const { channel, single } = this.#carrier;
    this.#finish();
    channel.whenIdle(() => {
      sendHead(channel, FrameType.End, this.#id, undefined, single);
      this.#carrier.leave(this.#id);
    });
  }

  refuse(error: RpcError): void {
    if (this.#isOver) return;
    this.#finish();
    this.#carrier.channel.whenIdle(() => new Reply(this.#carrier, this.#id, undefined, this.#settings).refuse(error));
  }

  onItem(frame: Frame): void {
    this.#receiving.received(frame.size);
    this.#receiving.consumed(frame.size);
    const { channel } = this.#carrier;
    try {
      this.call?.onPiece(this, pieceCursor(frame, this.#settings.limits.maxMetadataBytes, channel.compression));
    } catch (error) {
      this.#broken(RpcError.from(error, "invalid_argument"));
    }
  }

  onBadItem(error: RpcError): void {
    this.#broken(error);
  }

  onItemsEnd(): void {
    this.#broken(new RpcError("invalid_argument", "an attempt of a resumable call has ended its items"));
  }

  onFinished(): void {
    this.onItemsEnd();
  }

  onCredit(bytes: number): void {
    this.flow.grant(bytes);
  }

  onCancel(code: Code, carrierLost: boolean, withSession: boolean): void {
    if (this.#isOver) return;
    this.#finish();
    if (carrierLost) this.#carrier.leave(this.#id);
    else
      new Reply(this.#carrier, this.#id, undefined, this.#settings).refuse(
        new RpcError(code, "the caller cancelled the call"),
      );
    if (withSession) this.call?.onLost(this);
    else this.call?.onCancel(this, code);
  }

  #broken(error: RpcError): void {
    const { call } = this;
    this.refuse(error);
    call?.onCancel(this, error.code);
  }

  #finish(): void {
    this.#isOver = true;
    this.flow.end();
    this.#receiving.end();
    if (this.#deciding) this.#outlived = this.#settings.admission.outlive(this.#method);
    else this.#releaseAdmission();
    this.onOver?.();
  }
}
