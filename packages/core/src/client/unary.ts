import type { Carrier } from "../call/carrier.js";
import type { CallOptions } from "../call/options.js";
import { codecIn, decodePayload } from "../call/messages/payload.js";
import { rejectionAtCaller } from "../callers-line.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError } from "../errors.js";
import type { Frame } from "../wire/frame.js";
import { Call } from "./call.js";
import type { Calling, CallingHost } from "./calling.js";
import { failureOf } from "./failure.js";
import { promiseLater } from "./late-call.js";

/** Makes unary calls: request out, response or error in. */
export const unaryCalls: Calling<"unary"> = {
  kind: "unary",
  start(host, method, input, options) {
    const answer = new Promise(keepResolve);
    new AnsweredCall(host, method, options, kept).start(input);
    return answer;
  },
  startLate: (call) => promiseLater(call),
};

/** Resolves the most recently created promise. */
let kept: (answer: unknown) => void;

// One function for all calls, which `new Promise` calls before it returns: a function for each call would take as much
// memory as its promise.
function keepResolve(resolve: (answer: unknown) => void): void {
  kept = resolve;
}

/** A call with one answer: unary, or client streaming. */
export class AnsweredCall extends Call {
  private readonly resolve: (answer: unknown) => void;

  /** @param resolve receives the answer, or a promise that rejects */
  constructor(
    host: CallingHost,
    method: AnyMethod,
    options: CallOptions | undefined,
    resolve: (answer: unknown) => void,
  ) {
    super(host, method, options);
    this.resolve = resolve;
  }

  onResponse(frame: Frame): void {
    this.settle();
    const { method, host } = this;
    host.noteSize?.(method, Math.max(this.requestBytes, frame.size));
    let result: unknown;
    try {
      const position = this.onLastFrame(frame);
      const { format, channel } = this.carrier as Carrier;
      result = decodePayload(codecIn(format, method.output), frame, position, channel.compression, channel.budget);
    } catch (error) {
      this.fail(host.unreadable(method, error));
      return;
    }
    this.resolve(result);
  }

  onItem(): void {
    this.giveUp(new RpcError("internal", "an item in a call with one answer"));
  }

  onItemsEnd(): void {
    this.onItem();
  }

  onDone(): void {
    this.onError(new RpcError("internal", "the call ended without a response"));
  }

  onError(error: RpcError): void {
    if (this.over) return;
    this.settle();
    this.fail(error);
  }

  private fail(error: RpcError): void {
    this.resolve(rejectionAtCaller(failureOf(error, this.method, this.host.peer)));
  }
}
