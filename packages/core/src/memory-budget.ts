import { RpcError } from "./errors.js";

/** Bytes that a call in progress counts beside its message: its reply, its context and its handler's own state. */
export const CALL_BYTES = 2048;
/** Bytes that a stream of the peer's counts beside the bytes that wait on it. */
export const STREAM_BYTES = 4096;
/** Bytes that a resumable call counts beside the call itself: its stream, and what carries that from session to session. */
export const RESUMABLE_BYTES = 6144;

/** Bytes that an unread item counts beside its value: its place in the queue, with the room that queues grow by. */
export const ITEM_BYTES = 96;

/** Measured parts that are kept before the budget looks which of them still hold anything. */
const FEW_MEASURED = 256;

/** A part whose charge is measured from time to time, because nothing reports when it shrinks. */
export interface Measured {
  /** Corrects what it has charged. */
  measure(): unknown;
}

/** The budget of a server, to which those of its sessions are parts. */
export interface ServerBudget {
  held: number;
  readonly max: number;
  readonly setting: string;
  /** Beyond its maximum: returns whether `asking` may hold what it asks for. */
  makeRoomFor(asking: MemoryBudget): boolean;
  /** Another budget is part of it, and `close` gives back what that holds. Returns what takes it out. */
  enter?(budget: MemoryBudget, close: () => void): () => void;
}

/**
 * Counts the bytes that the peer of one session makes this side hold, estimated where they cannot be measured: frames that are not
 * complete, requests in progress, items that nobody has read, answers that the peer does not read. All of it is charged to
 * this budget, and so to that of the server that the session belongs to, and given back when it is no longer held.
 */
export class MemoryBudget {
  /** Bytes. */
  held = 0;
  readonly max: number;
  readonly setting: string;
  readonly server: ServerBudget | undefined;
  /** Made with the first part: most requests over HTTP have none. */
  #measured: Set<Measured> | undefined = undefined;
  #mostMeasured: number = FEW_MEASURED;

  /** @param setting names the limit in errors */
  constructor(max: number, setting: string, server?: ServerBudget) {
    this.max = max;
    this.setting = setting;
    this.server = server;
  }

  /** Bytes that may still be held. */
  get room(): number {
    const { server } = this;
    const own = this.max - this.held;
    return server === undefined ? own : Math.min(own, server.max - server.held);
  }

  /** Holds so many more bytes. Returns false where that is too much: they are held until they are given back all the same. */
  charge(bytes: number): boolean {
    this.held += bytes;
    const { server } = this;
    if (server !== undefined && (server.held += bytes) > server.max) return this.#isPressed();
    return this.held <= this.max || this.#isPressed();
  }

  release(bytes: number): void {
    this.held -= bytes;
    if (this.server !== undefined) this.server.held -= bytes;
  }

  /** Notes that the charge of `part` may have shrunk. */
  watch(part: Measured): void {
    const measured = (this.#measured ??= new Set());
    measured.add(part);
    if (measured.size <= this.#mostMeasured) return;
    this.measure();
    this.#mostMeasured = Math.max(FEW_MEASURED, measured.size * 2);
  }

  unwatch(part: Measured): void {
    this.#measured?.delete(part);
  }

  /** Corrects what is measured. */
  measure(): void {
    if (this.#measured === undefined) return;
    for (const each of this.#measured) each.measure();
  }

  /** The error of what is too much. */
  refusal(what: string, refused: boolean = false): RpcError {
    const { server } = this;
    const { setting, max, held } = server !== undefined && server.held > server.max ? server : this;
    const text = `${what} holds too much memory: ${setting} is ${max}, and ${held} are held`;
    return new RpcError("resource_exhausted", text, { refused });
  }

  #isPressed(): boolean {
    this.measure();
    const { server } = this;
    return this.held <= this.max && (server === undefined || server.held <= server.max || server.makeRoomFor(this));
  }
}
