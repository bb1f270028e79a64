import { RpcError } from "./errors.js";

/** Bytes charged for a call in progress, in addition to its message: for its reply, its context and the handler's own state. */
export const CALL_BYTES = 2048;
/** Bytes charged for a stream of the peer, in addition to the bytes that wait on it. */
export const STREAM_BYTES = 4096;

/** Bytes charged for an unread item, in addition to its value: for its place in the queue. */
export const ITEM_BYTES = 96;

/** From this many measured parts on, the budget checks which of them still hold anything. */
const FEW_MEASURED = 256;

/** A part whose charge is corrected from time to time, because nothing reports when it shrinks. */
export interface Measured {
  measure(): unknown;
}

/** The budget of a server, which contains the budgets of its sessions. */
export interface ServerBudget {
  held: number;
  readonly max: number;
  /** Bytes that may still be charged, or negative. */
  readonly room: number;
  readonly setting: string;
  /** Called when the maximum is exceeded. Returns true if `requester` may hold the bytes that it asks for. */
  makeRoomFor(requester: MemoryBudget): boolean;
}

/**
 * Counts the bytes that this side holds for the peer of one session: incomplete frames, requests in progress, unread
 * items, responses that the peer does not read. Bytes that cannot be measured are estimated. They are charged to this
 * budget and to the server's, and released when they are no longer held.
 */
export class MemoryBudget {
  held = 0;
  /** Estimated size, in bytes, of the last message that was decoded within this budget. */
  decodedBytes = 0;
  readonly max: number;
  readonly setting: string;
  readonly server: ServerBudget | undefined;
  /** Created with the first part: most requests over HTTP have none. */
  #measured: Set<Measured> | undefined = undefined;
  #mostMeasured: number = FEW_MEASURED;

  /** @param setting name of the limit in errors */
  constructor(max: number, setting: string, server?: ServerBudget) {
    this.max = max;
    this.setting = setting;
    this.server = server;
  }

  get room(): number {
    const { server } = this;
    const ownRoom = this.max - this.held;
    return server === undefined ? ownRoom : Math.min(ownRoom, server.room);
  }

  /** Charges bytes. Returns false if that exceeds the maximum; the bytes are charged nevertheless, until they are released. */
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

  /** Records that the charge of `part` may have shrunk. */
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

  measure(): void {
    if (this.#measured === undefined) return;
    for (const part of this.#measured) part.measure();
  }

  /**
   * Returns the error for exceeding the budget.
   *
   * @param bytes bytes that exceed it, if they are not charged
   */
  refusal(subject: string, refused: boolean = false, bytes: number = 0): RpcError {
    const { server } = this;
    const { setting, max, held } = server !== undefined && server.held + bytes > server.max ? server : this;
    const text = `${subject} holds too much memory: ${setting} is ${max}, and ${held} are held`;
    return new RpcError("resource_exhausted", text, { refused });
  }

  #isPressed(): boolean {
    this.measure();
    const { server } = this;
    return this.held <= this.max && (server === undefined || server.held <= server.max || server.makeRoomFor(this));
  }
}
