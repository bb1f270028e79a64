import { streamsInput, streamsOutput } from "../call/messages/payload.js";
import { expiries, type Expiry } from "../call/expiries.js";
import { ItemReceiver } from "../call/items/item-receiver.js";
import type { ItemStream } from "../call/items/item-stream.js";
import { Positions } from "../call/items/positions.js";
import { type ItemFlow, type ItemTarget, sendItems, bytePieceOf } from "../call/items/send-items.js";
import { fullName } from "../contract/descriptor.js";
import { asError, type Code, RpcError, untracedError } from "../errors.js";
import type { Limits } from "../limits.js";
import type { MemoryBudget } from "../memory-budget.js";
import { immediate } from "../turn-pace.js";
import type { Admission } from "./admission.js";
import type { IncomingContext } from "./context.js";
import { type BoundMethod, refusing } from "./router.js";

/** Tolerance in milliseconds: a timer may fire this much earlier than `Date.now()` reaches its time. */
const CLOCK_SLACK_MS = 2;

/**
 * Maximum number of items that all calls together send in one turn of the event loop. Without it, one long stream to a
 * fast reader could block all other calls.
 */
const TURN_ITEMS = 4096;
/** Number of items that calls may still send in this turn of the event loop. */
let itemsLeft: number = TURN_ITEMS;
/** Number of streaming calls that wait for the next turn of the event loop, by session or client. */
let waiting: Map<unknown, number> = new Map();
/** Promise that resolves in the next turn of the event loop with the value of `waiting`; undefined if no call waits. */
let nextTurn: Promise<ReadonlyMap<unknown, number>> | undefined;

export interface ServedCallSettings {
  readonly limits: Limits;
  readonly onError: (error: unknown, site: { readonly method: string }) => void;
  readonly admission: Admission;
  readonly budget: MemoryBudget;
  /** Id of the client that makes the call. Set only if several clients share one `Admission`. */
  readonly client?: string | undefined;
  /** Session or client whose share of each turn's items the call uses. Default: `client`, or else `admission`. */
  readonly itemsOf?: Admission | undefined;
}

/**
 * An incoming call, on a session or over HTTP: runs the handler when its turn has come, applies the deadline, charges
 * memory, and converts errors for the caller. Subclasses send the response. After its construction, `serve` or `refuse`
 * is called.
 */
export abstract class ServedCall implements ItemTarget {
  /** Whether the response is complete, or the caller has disconnected. */
  over = false;
  onGivenUp: (() => void) | undefined = undefined;
  /** Context for the handler; undefined if the handler does not run. */
  protected readonly context: IncomingContext<unknown> | undefined;
  protected readonly settings: ServedCallSettings;
  protected input: ItemReceiver | undefined = undefined;
  protected inputEnded = false;
  /** Error of a received item that could not be decoded. The call will fail with it. */
  protected itemError: RpcError | undefined = undefined;
  /** Checks the cursors of the handler's items; undefined if the items have no cursors. */
  positions: Positions | undefined = undefined;
  private expiry: Expiry | undefined = undefined;
  private entered = false;
  /** Whether the handler has settled, and the items that it returned have ended. */
  private settled = false;
  /** Called when the handler settles after the end of the call. */
  private onOutlived: (() => void) | undefined = undefined;
  /** Checks the caller's permission if an item cannot be decoded. */
  private authorize: BoundMethod["authorize"] = undefined;
  /** Number of items that the call may send before it waits for the next turn of the event loop. */
  private share = TURN_ITEMS;
  /** Removes the call from the queue; set while the call waits to run. */
  private unwait: (() => void) | undefined = undefined;
  /** Bytes charged to the memory budget until both the call and its handler have ended. */
  private readonly bytes: number;

  constructor(context: IncomingContext<unknown> | undefined, settings: ServedCallSettings, bytes: number) {
    this.bytes = bytes;
    this.context = context;
    this.settings = settings;
    if (context !== undefined) context.reply = this;
  }

  abstract readonly flow: ItemFlow;

  abstract item(item: unknown): void;

  turn(): Promise<void> | undefined {
    if (itemsLeft > 0 && this.share >= 1) {
      itemsLeft--;
      this.share--;
      return undefined;
    }
    return this.waitForTurn();
  }

  /** A separate function, as in all frequent paths here: V8 allocates the variables that closures use in each call. */
  private waitForTurn(): Promise<void> {
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
      // The item sent in this turn is already counted.
      this.share = TURN_ITEMS / all.size / (all.get(itemsOf) as number) - 1;
    });
  }

  abstract end(): void;

  /** Sends the response metadata, unless it has been sent. */
  abstract sendMetadata(): void;

  /** Sends the response of a call that does not stream. Throws if the response cannot be encoded. */
  protected abstract sendResult(value: unknown): void;

  protected abstract sendError(error: RpcError): void;

  /** Called when the call is still in progress after its request, so that the caller can cancel it. */
  protected abstract onEntered(): void;

  /** Called when the call has ended, so that no more frames of the caller belong to it. */
  protected abstract onLeft(): void;

  protected abstract startItems(input: ItemReceiver): void;

  protected abstract stopItems(): void;

  /** Runs the handler when the call may run. If the caller streams, the handler gets the stream, not `message`. */
  serve(bound: BoundMethod, message: unknown): void {
    if (this.settings.admission.mustWait) this.serveLater(bound, message);
    else this.runInTurn(bound, streamsInput(bound.method) ? this.receiveItems(bound) : message);
  }

  private runInTurn(bound: BoundMethod, input: unknown): void {
    const { admission } = this.settings;
    if (--admission.untimed > 0) this.run(bound, input);
    else this.runTimed(bound, input);
  }

  private runTimed(bound: BoundMethod, input: unknown): void {
    this.settings.admission.runTimed(() => this.run(bound, input));
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

  /** Counts a call with an asynchronous or streaming handler as in progress, and starts its deadline. */
  goesOn(): void {
    if (this.entered) return;
    this.entered = true;
    this.settings.admission.begin(this.settings.client);
    this.enter();
  }

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

  private threw(error: unknown): void {
    this.onSettled();
    this.fail(error);
  }

  /** Called when the handler has settled. A call that has already ended then no longer counts as in progress. */
  onSettled(): void {
    if (this.settled) return;
    this.settled = true;
    if (this.onOutlived === undefined) return;
    this.onOutlived();
    this.leave();
  }

  protected stream(result: unknown): void {
    this.goesOn();
    const cursor = this.context?.method.cursor;
    if (cursor !== undefined) this.positions = new Positions(cursor, this.context?.resumeFrom);
    void sendItems(this, result);
  }

  /** Maximum size of an item in bytes, if the items are raw bytes; undefined for messages, which are not split. */
  get rawPiece(): number | undefined {
    return bytePieceOf(this.context?.method.output, this.settings.limits);
  }

  private receiveItems({ authorize }: BoundMethod): ItemStream<unknown> {
    this.authorize = authorize;
    this.input = new ItemReceiver(() => this.stopItems());
    this.startItems(this.input);
    this.goesOn();
    return this.input.stream;
  }

  /**
   * Ends the call because an item of the caller cannot be decoded. A caller without permission receives the permission
   * error instead. Then a call in the queue ends only when it may run.
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

  /**
   * Ends the call with an error. The caller receives an `RpcError` that the handler threw. Any other exception, and
   * errors of calls that the handler made, go to `onError`; the caller receives a generic error.
   */
  fail(error: unknown): void {
    if (!this.over) this.finishWith(this.tellable(error));
  }

  /** Sends an error and ends the call. If sending throws, sends a generic error without values from user code. */
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

  /** Called if sending an error has thrown. The caller receives no error then. */
  protected onUnsendable(thrown: unknown): void {
    this.tellHook(thrown);
  }

  /** Ends the call with `error`, because the caller has lost its permission. */
  revoke(error: RpcError): void {
    this.giveUp(error, false);
  }

  /** Called when the caller has cancelled the call, or has disconnected and cannot receive more (`lost`). */
  onCancel(code: Code, lost: boolean): void {
    this.giveUp(untracedError(code, lost ? "the caller is gone" : "the caller cancelled the call"), lost);
  }

  protected giveUp(reason: RpcError, lost: boolean): void {
    if (this.over) return;
    this.input?.end(reason);
    // Sends the error first, so that listeners of the abort signal cannot send anything before it.
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
    // If the handler is still reading the caller's items, its read fails.
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

  /** Called when both the call and its handler have ended. */
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
    // The cause is a size limit or an unknown codec, not the schema.
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

  /** Returns true if a call that the handler made has failed because of this call's deadline. */
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

export function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
