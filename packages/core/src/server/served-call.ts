import { expiries, type Expiry } from "../call/expiries.js";
import { ItemReceiver } from "../call/items/item-receiver.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { Positions } from "../call/items/positions.js";
import { type ItemFlow, type ItemTarget, sendItems, bytePieceOf } from "../call/items/send-items.js";
import { fullName } from "../contract/descriptor.js";
import { streamsInput, streamsOutput } from "../contract/directions.js";
import { asError, type Code, RpcError, untracedError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import { immediate } from "../turn-pace.js";
import type { Admission } from "./admission.js";
import type { IncomingContext } from "./context.js";
import { type BoundMethod, refusing } from "./router.js";

/** Milliseconds by which a timer may fire early, compared with `Date`. */
const CLOCK_SLACK_MS = 2;

/**
 * Items that calls send in one turn of the event loop. Transports that take all of them at once, such as a socket whose
 * peer reads fast, would otherwise keep all other callers waiting until no call has another item.
 */
const TURN_ITEMS = 4096;
/** Items of all calls that are left in this turn. */
let itemsLeft: number = TURN_ITEMS;
/** Number of calls that wait for the next turn, by session or client. */
let waiting: Map<unknown, number> = new Map();
/** Resolves in the next turn, with the calls that waited for it; undefined if none waits. */
let nextTurn: Promise<ReadonlyMap<unknown, number>> | undefined;

/** Settings of the calls that a session, or another carrier, serves. */
export interface ServedCallSettings {
  readonly limits: Limits;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
  /** Client id, if several clients share the limiter. */
  readonly client?: string | undefined;
  /** The session whose share of the items of a turn the call uses. Default: the client, or the session of `admission`. */
  readonly itemsOf?: Admission | undefined;
}

/**
 * An incoming call from its request to its last frame, on any carrier: its turn, its handler, its deadline, the memory
 * charged for it, and the error that its caller receives. Subclasses send the response. Construct it when the request
 * is complete, then call `serve` or `refuse`.
 */
export abstract class ServedCall implements ItemTarget {
  /** Whether the last frame was sent, or the caller has disconnected. */
  over = false;
  /** Called once when the call is cancelled, before its end. */
  onGivenUp: (() => void) | undefined = undefined;
  /** Undefined for a call whose handler is not entered. */
  protected readonly context: IncomingContext<unknown> | undefined;
  protected readonly settings: ServedCallSettings;
  protected input: ItemReceiver | undefined = undefined;
  protected inputEnded = false;
  /** The error of an item that could not be read: the call is about to end with it. */
  protected itemError: RpcError | undefined = undefined;
  /** Follows the handler's items, if they have cursors. */
  positions: Positions | undefined = undefined;
  private expiry: Expiry | undefined = undefined;
  private entered = false;
  /** Whether the handler has returned, or the items that it returned have ended. */
  private settled = false;
  /** Called when the handler settles after the call was over. */
  private onOutlived: (() => void) | undefined = undefined;
  /** Decides about the caller of a call whose items cannot be read. */
  private authorize: BoundMethod["authorize"] = undefined;
  /** Items that the call may send before it waits for a turn again. */
  private share = TURN_ITEMS;
  /** Removes a call that waits for its turn from the queue. */
  private unwait: (() => void) | undefined = undefined;
  /** Bytes charged for a call that stays open, until both it and its handler have ended. */
  private readonly bytes: number;

  constructor(context: IncomingContext<unknown> | undefined, settings: ServedCallSettings, bytes: number) {
    this.bytes = bytes;
    this.context = context;
    this.settings = settings;
    if (context !== undefined) context.reply = this;
  }

  /** Tells when the next item may be sent. */
  abstract readonly flow: ItemFlow;

  /** Sends one message of a stream. Throws if it cannot be sent. */
  abstract item(item: unknown): void;

  turn(): Promise<void> | undefined {
    if (itemsLeft > 0 && this.share >= 1) {
      itemsLeft--;
      this.share--;
      return undefined;
    }
    const { client, admission, itemsOf = client ?? admission } = this.settings;
    waiting.set(itemsOf, (waiting.get(itemsOf) ?? 0) + 1);
    nextTurn ??= new Promise((resolve) => {
      immediate(() => {
        itemsLeft = TURN_ITEMS;
        resolve(waiting);
        waiting = new Map();
        nextTurn = undefined;
      });
    });
    return nextTurn.then((all) => {
      // The first item needs no turn.
      this.share = TURN_ITEMS / all.size / (all.get(itemsOf) as number) - 1;
    });
  }

  /** Ends the items successfully. */
  abstract end(): void;

  /** Sends the response metadata, unless it has been sent. */
  abstract sendMetadata(): void;

  /** Sends the result of a call that does not stream, as its last frame. Throws if it cannot be sent. */
  protected abstract sendResult(value: unknown): void;

  /** Sends the error that the caller receives, as the last frame. */
  protected abstract sendError(error: RpcError): void;

  /** Called when the call stays open after its request, so that cancels have to reach it. */
  protected abstract onEntered(): void;

  /** Called when the call is over: nothing has to reach it any more. */
  protected abstract onLeft(): void;

  /** Starts to pass the caller's items to `input`. */
  protected abstract startItems(input: ItemReceiver): void;

  /** Stops receiving the caller's items. */
  protected abstract stopItems(): void;

  /** Runs the handler when it is the call's turn. If the method streams its input, the handler gets the stream instead of `message`. */
  serve(bound: BoundMethod, message: unknown): void {
    if (this.settings.admission.mustWait) this.serveLater(bound, message);
    else this.runInTurn(bound, streamsInput(bound.method) ? this.receiveItems(bound) : message);
  }

  private runInTurn(bound: BoundMethod, input: unknown): void {
    const { admission } = this.settings;
    if (--admission.untimed > 0) this.run(bound, input);
    else admission.runTimed(() => this.run(bound, input));
  }

  private serveLater(bound: BoundMethod, message: unknown): void {
    let input = message;
    this.wait(() => this.runInTurn(this.itemError === undefined ? bound : refusing(bound, this.itemError), input));
    if (streamsInput(bound.method)) input = this.receiveItems(bound);
  }

  private run({ method, handler }: BoundMethod, input: unknown): void {
    try {
      const result = handler(input, this.context as IncomingContext<unknown>);
      if (streamsOutput(method)) this.stream(result);
      else if (isPromiseLike(result)) this.later(result);
      else this.returned(result);
    } catch (error) {
      this.threw(error);
    }
  }

  /** Keeps the call open after its request, and starts its deadline. */
  goesOn(): void {
    if (this.entered) return;
    this.entered = true;
    this.settings.admission.begin(this.settings.client);
    this.enter();
  }

  /** Keeps the call open, and runs `start` when it is its turn. */
  private wait(start: () => void): void {
    this.entered = true;
    this.unwait = this.settings.admission.wait(() => {
      this.unwait = undefined;
      start();
    }, this.settings.client);
    this.enter();
  }

  private enter(): void {
    this.settings.budget.charge(this.bytes);
    this.onEntered();
    if (this.over) return;
    const deadline = this.context?.deadline;
    if (deadline === undefined) return;
    const expire = (): void => this.giveUp(untracedError("deadline_exceeded", "the deadline has passed"), false);
    this.expiry = expiries.add(deadline - Date.now(), expire);
  }

  private later(result: PromiseLike<unknown>): void {
    this.goesOn();
    result.then(
      (value) => this.returned(value),
      (error: unknown) => this.threw(error),
    );
  }

  /** Called when the handler has returned the result of a unary call. */
  protected returned(result: unknown): void {
    this.onSettled();
    if (this.over) return;
    try {
      this.sendResult(result);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.finish();
  }

  /** Called when the handler has failed. */
  private threw(error: unknown): void {
    this.onSettled();
    this.fail(error);
  }

  /** Called when the handler has settled. If the call is already over, its place becomes free. */
  onSettled(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.onOutlived === undefined) return;
    this.onOutlived();
    this.leave();
  }

  /** Sends all items that a streaming handler returned. */
  protected stream(result: unknown): void {
    this.goesOn();
    const cursor = this.context?.method.cursor;
    if (cursor !== undefined) this.positions = new Positions(cursor, this.context?.resumeFrom);
    void sendItems(this, result);
  }

  /** Most bytes of an item, if items are raw bytes; otherwise undefined. */
  get rawPiece(): number | undefined {
    return bytePieceOf(this.context?.method.output, this.settings.limits);
  }

  /** Returns the caller's items, for the handler. */
  private receiveItems({ authorize }: BoundMethod): ItemStream<unknown> {
    this.authorize = authorize;
    this.input = new ItemReceiver(() => this.stopItems());
    this.startItems(this.input);
    this.goesOn();
    return this.input.stream;
  }

  /**
   * Ends the call because an item of the caller's cannot be read. A caller without permission for the method receives
   * that error instead. A call that waits ends in its turn, so that pending permission checks count as calls.
   */
  protected refuseItem(reason: RpcError): void {
    const { authorize, context } = this;
    if (authorize === undefined || context === undefined) {
      this.giveUp(reason, false);
      return;
    }
    this.itemError = reason;
    this.input?.end(reason);
    if (this.unwait !== undefined) return;
    authorize(context).then(
      () => this.giveUp(reason, false),
      (refusal: unknown) => {
        if (!this.over) this.giveUp(this.tellable(refusal), false);
      },
    );
  }

  /** Ends the call with an error. Only an `RpcError` tells the caller what went wrong. */
  fail(error: unknown): void {
    if (!this.over) this.finishWith(this.tellable(error));
  }

  /** Sends the error; if that throws, sends one without any value from user code. Ends the call in any case. */
  protected finishWith(error: RpcError, isPlain: boolean = false): void {
    try {
      this.sendError(error);
    } catch (thrown) {
      if (!isPlain) {
        this.tellHook(thrown);
        this.finishWith(new RpcError("internal", "the handler failed"), true);
        return;
      }
      this.onUnsendable(thrown);
    }
    this.finish();
  }

  /** Called with the exception thrown by sending an error. The caller does not receive it. */
  protected onUnsendable(thrown: unknown): void {
    this.tellHook(thrown);
  }

  /** Ends a call whose caller is no longer permitted to make it. */
  revoke(error: RpcError): void {
    this.giveUp(error, false);
  }

  /**
   * Called when the caller has cancelled or has disconnected.
   *
   * @param lost true if nothing more can be sent to the caller
   */
  onCancel(code: Code, lost: boolean): void {
    this.giveUp(untracedError(code, lost ? "the caller is gone" : "the caller cancelled the call"), lost);
  }

  protected giveUp(reason: RpcError, lost: boolean): void {
    if (this.over) return;
    this.input?.end(reason);
    // The response first, so that nothing which a listener of the signal does can precede it.
    if (lost) this.finish();
    else this.fail(reason);
    this.context?.abort(reason);
    this.onGivenUp?.();
  }

  protected finish(): void {
    this.over = true;
    this.context?.over();
    if (this.entered) this.finishEntered();
    else this.onLeft();
  }

  private finishEntered(): void {
    if (this.expiry !== undefined) expiries.remove(this.expiry);
    // A handler that is still reading the caller's items fails.
    if (this.input !== undefined && !this.inputEnded) {
      this.input.end(new RpcError("cancelled", "the call is over"));
      this.stopItems();
    }
    this.onLeft();
    if (this.unwait !== undefined) {
      this.release();
      this.unwait();
    } else if (this.settled) {
      this.leave();
    } else {
      this.onOutlived = this.settings.admission.outlive(this.methodName());
    }
  }

  /** Called when the call and its handler have ended. */
  private leave(): void {
    this.release();
    this.settings.admission.end(this.settings.client);
  }

  private release(): void {
    this.input?.releaseAll();
    this.settings.budget.release(this.bytes);
  }

  protected misfit(error: unknown): Error {
    const { code, message } = RpcError.from(error);
    // Not a mismatch, but a limit of the frame or the metadata, or an unknown codec.
    if (code === "resource_exhausted" || code === "unimplemented") return error as RpcError;
    return new Error(`the result does not fit its schema: ${message}`, { cause: asError(error) });
  }

  private tellable(error: unknown): RpcError {
    if (error instanceof RpcError && !error.fromCall) return error;
    this.tellHook(error);
    if (!(error instanceof RpcError)) return new RpcError("internal", "the handler failed");
    if (this.isLate(error)) return new RpcError("deadline_exceeded", "the deadline has passed");
    if (error.code === "unavailable")
      return new RpcError("unavailable", "a service that the handler calls is unavailable");
    return new RpcError("internal", "the handler failed, because a call that it made failed");
  }

  /** Returns true if a call made by the handler ended because of this call's deadline. */
  private isLate({ code }: RpcError): boolean {
    const deadline = this.context?.deadline;
    return code === "deadline_exceeded" && deadline !== undefined && Date.now() >= deadline - CLOCK_SLACK_MS;
  }

  protected tellHook(error: unknown): void {
    this.settings.onError(error, { method: this.methodName() });
  }

  protected methodName(): string {
    return this.context === undefined ? "unknown" : fullName(this.context.method);
  }
}

/** Returns true if a handler's result is asynchronous. */
export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
