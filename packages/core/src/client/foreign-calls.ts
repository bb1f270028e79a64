import type { AnyAnswer } from "../call/base-caller.js";
import { leaveSource } from "../call/items/send-items.js";
import { type ItemQueue, itemQueue, type ItemStream } from "../call/items/item-stream.js";
import { rejectionAtCaller } from "../callers-line.js";
import type { AnyMethod } from "../contract/descriptor.js";
import { RpcError, untracedError } from "../errors.js";
import { callWritable, relayTo, type WrittenCall } from "./call-writable.js";
import type { Calling, CallingHost } from "./calling.js";
import { callFailureOf, atEnd, PendingCall } from "./pending-call.js";

// Call kinds for clients that are generated for a `ForeignClient` only, such as `httpTransport`. That client makes the
// calls, so the bundle contains no code for sessions. Each kind is a separate object, so that a bundle contains only
// the kinds that it uses.

export const foreignUnaryCalls: Calling<"unary"> = {
  kind: "unary",
  create: (method) => new FollowingPromise(method),
};

export const foreignNotifyCalls: Calling<"notify"> = {
  kind: "notify",
  create: (method) => new FollowingPromise(method),
};

export const foreignServerStreamCalls: Calling<"server_stream"> = {
  kind: "server_stream",
  create: (method) => new FollowingItems(method),
};

export const foreignClientStreamCalls: Calling<"client_stream"> = {
  kind: "client_stream",
  create: (method, _options, source) => new FollowingSource(method, source),
};

export const foreignDuplexCalls: Calling<"duplex"> = {
  kind: "duplex",
  create: (method) => new FollowingDuplex(method),
};

/** A call that a session cannot make, because the client was generated for HTTP only. A `ForeignClient` makes it. */
abstract class FollowingCall extends PendingCall {
  start({ peer }: CallingHost): void {
    const hint = "generate it with quicrpc gen --target client";
    const error = new RpcError("unimplemented", "this client was generated for HTTP alone", { hint, refused: true });
    this.end(callFailureOf(error, this.method, peer));
  }
}

class FollowingPromise extends FollowingCall {
  readonly answer: Promise<unknown>;
  #resolve!: (answer: unknown) => void;

  constructor(method: AnyMethod) {
    super(method);
    this.answer = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  protected conclude(error: RpcError | undefined, result: unknown): void {
    this.#resolve(error === undefined ? result : rejectionAtCaller(error));
  }
}

class FollowingSource extends FollowingPromise {
  constructor(method: AnyMethod, source: unknown) {
    super(method);
    this.source = source;
  }

  protected override conclude(error: RpcError | undefined, result: unknown): void {
    super.conclude(error, result);
    if (error !== undefined && this.source !== undefined) leaveSource(this.source);
  }
}

class FollowingItems extends FollowingCall {
  onOver: ((error: RpcError | undefined) => void) | undefined = undefined;
  readonly #queue: ItemQueue<unknown> = itemQueue({
    onTaken() {},
    onAbandoned: () => this.end(untracedError("cancelled", "the caller wants no more items")),
  });

  get answer(): AnyAnswer {
    return this.#queue.stream;
  }

  override received(): boolean {
    return this.#queue.used;
  }

  override follow(answer: unknown): void {
    const items = answer as ItemStream<unknown>;
    atEnd(
      this,
      this.#queue.follow(items, items, (error) => this.end(error as RpcError | undefined)),
    );
  }

  protected conclude(error: RpcError | undefined): void {
    this.#queue.end(error);
    this.onOver?.(error);
  }
}

class FollowingDuplex extends FollowingItems implements WrittenCall {
  relay: WritableStreamDefaultWriter<unknown> | undefined = undefined;
  override onStarted: (() => void) | undefined = undefined;
  readonly #writable: WritableStream<unknown> = callWritable(this);

  override get answer(): AnyAnswer {
    return { readable: super.answer as ItemStream<unknown>, writable: this.#writable };
  }

  cancel(error: RpcError): void {
    this.end(callFailureOf(error, this.method, undefined));
  }

  override follow(answer: unknown): void {
    super.follow(relayTo(this, answer));
  }
}
