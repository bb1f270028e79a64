import type { Carrier } from "../call/carrier.js";
import { codecIn, decodePayload } from "../call/messages/payload.js";
import { rejectionAtCaller } from "../callers-line.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Frame } from "../wire/frame.js";
import * as FrameType from "../wire/frame-type.js";
import { Call } from "./call.js";
import type { Calling } from "./calling.js";
import { callFailureOf } from "./pending-call.js";

/** Unary calls: one request, one response. */
export const unaryCalls: Calling<"unary"> = {
  kind: "unary",
  create: (method) => new AnsweredCall(method),
};

/** Resolver of the promise that was created last. */
let resolveKept: (answer: unknown) => void;

// `new Promise` calls this function before it returns. It is the same for all calls, because a closure for each call
// would take as much memory as its promise.
function keepResolve(resolve: (answer: unknown) => void): void {
  resolveKept = resolve;
}

/** A call with a single response: unary or client-streaming. */
export class AnsweredCall extends Call {
  readonly answer: Promise<unknown>;
  private readonly resolve: (answer: unknown) => void;

  // As in `Call`.
  constructor(method: AnyMethod) {
    super(method);
    this.answer = new Promise(keepResolve);
    this.resolve = resolveKept;
  }

  override onFrame(frame: Frame): void {
    switch (frame.type) {
      case FrameType.Response:
        this.onResponse(frame);
        return;
      case FrameType.Item:
      case FrameType.HalfEnd:
        this.cancel(new RpcError("internal", "an item in a call with one answer"));
        return;
      case FrameType.End:
        this.onError(new RpcError("internal", "the call ended without a response"));
        return;
      default:
        super.onFrame(frame);
    }
  }

  private onResponse(frame: Frame): void {
    const { method, host, carrier } = this;
    this.settle();
    host.noteSize?.(method, Math.max(this.requestBytes, frame.size));
    let result: unknown;
    let failure: RpcError | undefined;
    try {
      const position = this.onLastFrame(frame);
      const { format, channel } = carrier as Carrier;
      result = decodePayload(codecIn(format, method.output), frame, position, channel.compression, channel.budget);
    } catch (error) {
      failure = callFailureOf(host.unreadable(method, error), method, host.peer);
    }
    this.finish(failure, result);
  }

  protected conclude(error: RpcError | undefined, result: unknown): void {
    this.resolve(error === undefined ? result : rejectionAtCaller(error));
  }
}
