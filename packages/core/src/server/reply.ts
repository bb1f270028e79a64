import * as FrameType from "../wire/frame-type.js";
import type { AnswerCarrier, IncomingCall } from "../call/carrier.js";
import { SendFlow } from "../call/items/send-items.js";
import type { ItemReceiver } from "../call/items/item-receiver.js";
import { codecIn, sendHead, sendMessage } from "../call/messages/payload.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import { asError, ProtocolError, RpcError } from "../errors.js";
import { gatherFrames } from "../transport/gathering.js";
import { isEndOfSession } from "../transport/close-codes.js";
import { writeFault, type SentFault } from "../wire/sent-fault.js";
import { FLAG_HEAD, type Frame } from "../wire/frame.js";
import type { HeadFields } from "../wire/head.js";
import { FrameWriter } from "../wire/writer.js";
import { AnswerHeads, type IncomingContext } from "./context.js";
import { ServedCall, type ServedCallSettings } from "./served-call.js";
import { pack } from "../msgpack/pack.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { declaredError } from "../contract/method-errors.js";

export interface ReplySettings extends ServedCallSettings {
  readonly schemas: SchemaHandshake;
}

/** An incoming call that sends its response as frames: a response or error frame, or item frames and an end frame. */
export class Reply extends ServedCall implements IncomingCall {
  declare protected readonly settings: ReplySettings;
  private sendFlow: SendFlow | undefined = undefined;
  private readonly carrier: AnswerCarrier;
  private readonly id: number;
  /** Whether this side has sent its last item while the call continues to receive the caller's items. */
  private halfEnded = false;

  constructor(
    carrier: AnswerCarrier,
    id: number,
    context: IncomingContext<unknown> | undefined,
    settings: ReplySettings,
    bytes: number = 0,
  ) {
    super(context, settings, bytes);
    this.carrier = carrier;
    this.id = id;
  }

  get flow(): SendFlow {
    this.sendFlow ??= new SendFlow(this.carrier);
    return this.sendFlow;
  }

  protected onEntered(): void {
    this.carrier.enter(this.id, this);
  }

  protected onLeft(): void {
    this.sendFlow?.end();
    this.carrier.leave(this.id);
  }

  protected sendResult(value: unknown): void {
    this.message(FrameType.Response, value, this.carrier.single, this.context?.answerHeads?.last());
  }

  sendMetadata(): void {
    const head = this.over ? undefined : this.context?.answerHeads?.first();
    if (head !== undefined) sendHead(this.carrier.channel, FrameType.Headers, this.id, head, false);
  }

  item(item: unknown): void {
    if (this.over) return;
    this.sendMetadata();
    this.flow.spend(this.message(FrameType.Item, item, false));
  }

  /** Ends the items of this side. Also ends the call, unless it is a duplex of raw bytes whose handler still reads. */
  end(): void {
    if (this.over) return;
    this.halfEnded = this.readsOn();
    this.onGivenUp = undefined;
    if (this.halfEnded) sendHead(this.carrier.channel, FrameType.HalfEnd, this.id, undefined, false);
    else this.endCall();
  }

  protected sendError(error: RpcError): void {
    this.sendFault(error, this.headOfError(error));
  }

  /** Responds with an error to a call whose handler does not run. */
  refuse(error: RpcError, fingerprint?: number): void {
    const { refused } = error;
    const leaving = isEndOfSession(error);
    this.sendFault(error, refused || fingerprint !== undefined ? { refused, leaving, fingerprint } : undefined);
    this.finish();
  }

  protected override stream(result: unknown): void {
    gatherFrames(this.carrier.channel);
    super.stream(result);
  }

  protected startItems(input: ItemReceiver): void {
    const codec = codecIn(this.carrier.peerFormat, this.context?.method.input);
    input.carriedBy(this.carrier, this.id, codec, this.settings.limits);
  }

  protected stopItems(): void {
    if (this.halfEnded && !this.over) this.endCall();
    else this.carrier.stopItems();
  }

  onItem(frame: Frame): void {
    if (this.itemError !== undefined) return;
    if (this.input === undefined) {
      // The caller's schema may define the method as streaming, so only this call fails.
      this.giveUp(new RpcError("unimplemented", `${this.methodName()} takes one message here, not a stream`), false);
      return;
    }
    try {
      this.input.receive(frame);
    } catch (error) {
      if (asError(error) instanceof ProtocolError) throw error;
      this.refuseItem(this.explained(RpcError.from(error, "invalid_argument")));
    }
  }

  onBadItem(error: RpcError): void {
    if (this.itemError === undefined) this.refuseItem(error);
  }

  onItemsEnd(): void {
    this.inputEnded = true;
    this.input?.end(undefined);
    if (this.halfEnded && this.itemError === undefined) this.endCall();
  }

  onCredit(bytes: number): void {
    this.flow.grant(bytes);
  }

  onFinished(): void {
    if (this.input === undefined || this.inputEnded || this.itemError !== undefined) return;
    this.giveUp(new RpcError("invalid_argument", "the caller's stream ended before its items did"), false);
  }

  private readsOn(): boolean {
    if (this.input === undefined || this.inputEnded || this.context === undefined) return false;
    return isTunnel(this.context.method) && this.input.stream.locked;
  }

  /** Ends the call after this side has sent its last item and needs no more items of the caller. */
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
    const { channel, peerFormat } = this.carrier;
    channel.requireRoom();
    const codec = codecIn(peerFormat, this.context?.method.output);
    try {
      return sendMessage(channel, type, this.id, codec, value, end, head, this.context?.compress);
    } catch (error) {
      throw this.misfit(error);
    }
  }

  private explained(error: RpcError): RpcError {
    return this.context === undefined ? error : this.settings.schemas.explain(this.context.method, error);
  }

  private sendFault(error: RpcError, head: HeadFields | undefined): void {
    const { channel, single } = this.carrier;
    const fault = faultOf(error, this.context?.method, head, (misfit) => this.tellHook(misfit));
    const type = fault.head === undefined ? FrameType.Error : FrameType.Error | FLAG_HEAD;
    const write = (out: FrameWriter, mark: number): void => {
      const start = writeFault(out, fault, this.settings.limits);
      channel.compression?.shrink(out, mark, start, this.context?.compress);
    };
    channel.frame(type, this.id, write, single);
  }

  /**
   * Returns the head of an error frame. Returns undefined if the metadata is too large, so that the caller still
   * receives the error.
   */
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
}

/**
 * Converts an error to the form that is sent. Sends the error's name (`reason`) only if the method declares it. If the
 * details do not match the declaration, reports that to `onMisfit` and omits the name.
 */
export function faultOf(
  error: RpcError,
  method: AnyMethod | undefined,
  head: HeadFields | undefined,
  onMisfit: (error: unknown) => void,
): SentFault {
  const { code, message, reason } = error;
  const declared = method === undefined || reason === undefined ? undefined : declaredError(method, reason);
  if (declared === undefined) return { code, message, head, details: packDetails(error.details) };
  try {
    const out = new FrameWriter(256);
    declared.details?.encode(error.details, out);
    return { code, message, head: { ...head, reason }, details: out.position === 0 ? undefined : out.written() };
  } catch (misfit) {
    const cause = asError(misfit);
    onMisfit(new Error(`the details of ${reason} do not fit their schema: ${cause.message}`, { cause }));
    return { code, message, head, details: packDetails(error.details) };
  }
}

/**
 * Encodes the details of an error as MessagePack. Returns undefined if that fails, so that the error is sent without
 * details. May run user code (getters).
 */
export function packDetails(details: unknown): Uint8Array | undefined {
  if (details === undefined) return undefined;
  try {
    return pack(details);
  } catch {
    return undefined;
  }
}

/** Returns true if a method is a duplex of raw bytes. The two directions of its calls end independently. */
function isTunnel({ kind, input, output }: AnyMethod): boolean {
  return kind === "duplex" && input?.bytes === true && output?.bytes === true;
}
