import type { Callee, LaneCallee, AnswerCarrier, IncomingCall, RequestHandler } from "../call/carrier.js";
import type { TypedCaller } from "../call/base-caller.js";
import { IncomingCallStream } from "../call/incoming-stream.js";
import type { SchemaHandshake } from "../call/messages/schema-handshake.js";
import type { Drain } from "../call/lanes/drain.js";
import type { FormatTable, SessionFormat } from "../call/messages/session-format.js";
import { guarded } from "../guarded.js";
import type { Limits } from "../limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import type { Channel, FrameHandler } from "../transport/channel.js";
import type { DirectSession } from "../transport/session.js";
import type { SessionCompression } from "../transport/compression.js";
import { Admission, type AdmissionSettings, guardedShedder, type LoadShedder } from "./admission.js";
import { Identity, type PrincipalOf } from "./context.js";
import { DatagramReceiver } from "./datagram-receiver.js";
import { Dispatcher, type ErrorHook } from "./dispatch.js";
import { errorHook } from "./log-error.js";
import { type OnceOptions, onceSettings } from "./once-options.js";
import { MethodTable, type ReservedMethods, type Router } from "./router.js";
import { type LoadMember, type LoadPlace, ServerLoad } from "./server-load.js";
import { codeFromNumber, codeNumber } from "../codes.js";
import { ProtocolError, RpcError } from "../errors.js";
import type { ClientLimits } from "../client-limits.js";
import { cursorOf } from "../wire/cursor.js";
import type { Frame } from "../wire/frame.js";
import type { ReceiveFlow } from "../call/items/item-receiver.js";
import { LaneReceiveFlow } from "../call/lanes/lane-flow.js";
import { oversized } from "../call/messages/payload.js";
import * as FrameType from "../wire/frame-type.js";

export interface ServingHost extends TypedCaller {
  readonly budget: MemoryBudget;
  readonly schemas: SchemaHandshake;
  readonly reserved: ReservedMethods | undefined;
  readonly direct: Pick<DirectSession, "close">;
  /** State of a graceful shutdown; undefined until either side starts one. */
  readonly drainage: Pick<Drain, "refusing"> | undefined;
  onIdle(): void;
}

export interface ServingOptions<Context> {
  readonly routers?: readonly Router<Context>[] | undefined;
  readonly connection?: Context | undefined;
  /** Set if the client can renew its credentials on this session. */
  readonly renewal?: object | undefined;
  readonly loadShedder?: LoadShedder | undefined;
  readonly load?: ServerLoad | undefined;
  readonly once?: OnceOptions<Context> | undefined;
  readonly principal?: PrincipalOf<Context> | undefined;
  readonly onError?: ErrorHook | undefined;
  readonly peer?: string | undefined;
  readonly onForeignDatagram?: ((bytes: Uint8Array) => void) | undefined;
}

export interface ServingSettings {
  readonly limits: Limits;
  readonly formats: FormatTable;
  readonly compression: SessionCompression | undefined;
  readonly prefix: Uint8Array;
}

/** The serving side of a session: it handles the calls that the peer makes. */
export class Serving<Context> implements Callee, AdmissionSettings, LoadMember {
  readonly limits: Limits;
  readonly loadShedder: LoadShedder | undefined;
  readonly load: ServerLoad;
  readonly onError: ErrorHook;
  readonly #host: ServingHost;
  readonly #serves: boolean;
  readonly #prefix: Uint8Array;
  readonly #onForeignDatagram: ((bytes: Uint8Array) => void) | undefined;
  readonly #dispatcher: Dispatcher<Context>;
  readonly #admission: Admission;
  #datagrams: DatagramReceiver | undefined = undefined;
  /** Place of this session in the server's load; undefined if no server counts it. */
  readonly #place: LoadPlace | undefined;

  constructor(host: ServingHost, options: ServingOptions<Context>, settings: ServingSettings) {
    const { budget, schemas } = host;
    const { limits, formats, compression, prefix } = settings;
    const { loadShedder, load = new ServerLoad(), onForeignDatagram } = options;
    const onError = errorHook(options.onError, options.peer);
    const once = onceSettings(options.once);
    const table = MethodTable.of(options.routers ?? []);
    this.#host = host;
    this.#serves = (options.routers ?? []).length > 0;
    this.limits = limits;
    this.#prefix = prefix;
    this.loadShedder = loadShedder && guardedShedder(loadShedder, onError);
    this.load = load;
    this.onError = onError;
    this.#onForeignDatagram = onForeignDatagram && guardedDatagrams(onForeignDatagram, onError);
    this.#admission = new Admission(this);
    this.#dispatcher = new Dispatcher<Context>({
      table,
      served: table,
      connection: options.connection as Context,
      identity: options.renewal && new Identity(options.connection as Context),
      session: host,
      host,
      limits,
      once,
      principal: options.principal,
      schemas,
      formats,
      compression,
      onError,
      admission: this.#admission,
      budget,
      peer: options.peer,
    });
    this.#place = options.load?.add(this);
  }

  get maxCalls(): number | undefined {
    if (!this.#serves) return undefined;
    const { maxCalls, maxWaitingCalls } = this.limits;
    return Math.min(maxCalls + maxWaitingCalls, Number.MAX_SAFE_INTEGER);
  }

  get calls(): number {
    return this.#admission.calls;
  }

  isRefusing(): boolean {
    return this.#host.drainage?.refusing === true;
  }

  onIdle(): void {
    this.#host.onIdle();
  }

  identify(connection: unknown): void {
    this.#dispatcher.identify(connection as Context);
  }

  onLane(channel: Channel): LaneCallee {
    return new ServedLane(channel, this.#dispatcher);
  }

  onStream(channel: Channel, onOver: () => void): FrameHandler {
    return new IncomingCallStream(channel, this.#dispatcher, onOver);
  }

  onDatagram(bytes: Uint8Array): void {
    this.#datagrams ??= new DatagramReceiver(this.#dispatcher, this.#prefix, this.limits, this.#onForeignDatagram);
    this.#datagrams.onDatagram(bytes);
  }

  get budget(): MemoryBudget {
    return this.#host.budget;
  }

  onEvicted({ code, message }: RpcError): void {
    this.#host.direct.close({ closeCode: codeNumber(code), reason: message });
  }

  onClosed(): void {
    if (this.#place !== undefined) this.load.remove(this.#place);
  }
}

/**
 * Returns `take` with its exceptions passed to `onError`. A separate function, so that the closure does not retain more
 * than it needs.
 */
function guardedDatagrams(take: (bytes: Uint8Array) => void, onError: ErrorHook): (bytes: Uint8Array) => void {
  return guarded(take, (thrown) => onError(thrown, { method: "onForeignDatagram" }));
}

/** Handles the calls that the peer makes on one lane (a stream that many calls share). */
class ServedLane implements LaneCallee, AnswerCarrier {
  readonly single = false;
  readonly channel: Channel;
  peerFormat: SessionFormat | undefined = undefined;
  private readonly calls: (IncomingCall | undefined)[] = [];
  private readonly requests: RequestHandler;
  private readonly limits: ClientLimits;
  private over = false;

  constructor(channel: Channel, requests: RequestHandler) {
    this.channel = channel;
    this.requests = requests;
    this.limits = channel.limits;
  }

  receiveFlow(id: number): ReceiveFlow {
    return new LaneReceiveFlow(this, id);
  }

  onHello(codec: string): void {
    this.peerFormat = this.requests.formats.find(codec);
  }

  readIn(): void {
    throw new RpcError("invalid_argument", "a request on a lane names a codec: the lane's hello does");
  }

  enter(id: number, call: IncomingCall): void {
    if (this.over) call.onCancel("cancelled", true, true);
    else this.calls[id >>> 1] = call;
  }

  stopItems(): void {}

  leave(id: number): void {
    const index = id >>> 1;
    if (index < this.calls.length) this.calls[index] = undefined;
  }

  onFrame(frame: Frame): void {
    if (frame.oversized) {
      this.onOversized(frame);
      return;
    }
    switch (frame.type) {
      case FrameType.Request:
        this.requireFree(frame.callId);
        this.requests.onRequest(this, frame);
        return;
      case FrameType.Notify:
        this.requests.onNotify(this, frame);
        return;
      case FrameType.Cancel: {
        const code = codeFromNumber(cursorOf(frame).byte());
        this.calls[frame.callId >>> 1]?.onCancel(code, false, false);
        return;
      }
      case FrameType.Credit:
        this.calls[frame.callId >>> 1]?.onCredit(cursorOf(frame).varint());
        return;
      // Items, cancels and credit that were sent before the response arrived are dropped.
      case FrameType.Item:
        this.calls[frame.callId >>> 1]?.onItem(frame);
        return;
      case FrameType.End:
        this.calls[frame.callId >>> 1]?.onItemsEnd();
        return;
      default:
        throw new ProtocolError(`frame type ${frame.type} is not for the called side`);
    }
  }

  end(): void {
    this.over = true;
    for (const call of this.calls.splice(0)) call?.onCancel("cancelled", true, true);
  }

  private onOversized(frame: Frame): void {
    const { type, callId } = frame;
    const error = oversized(frame, this.limits);
    if (type === FrameType.Request) this.requireFree(callId);
    if (type === FrameType.Item) this.calls[callId >>> 1]?.onBadItem(error);
    else if (type === FrameType.Request || type === FrameType.Notify) this.requests.onOversized(this, frame, error);
    else throw new ProtocolError(`a frame of type ${type} has ${frame.size} bytes`);
  }

  private requireFree(callId: number): void {
    const index = callId >>> 1;
    if (index >= this.limits.maxCallsPerLane) throw new ProtocolError(`call id ${callId} is beyond maxCallsPerLane`);
    if (index < this.calls.length && this.calls[index] !== undefined)
      throw new ProtocolError(`call ${callId} is still in progress`);
  }
}
