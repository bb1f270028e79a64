import { RpcError } from "./errors.js";

/** What a call in progress holds beside its message: its reply and context, and what its handler keeps. */
export const CALL_BYTES = 2048;
/** What a stream of the peer's holds beside what waits on it. */
export const STREAM_BYTES = 4096;
/** What a value of a message holds, at least, beside the bytes that it was read from: an empty object, say. */
export const VALUE_BYTES = 32;

/** So many that are measured are kept without looking whether they have to be. */
const FEW_MEASURED = 256;

/** What is measured rather than counted, since nobody says when it is less. */
export interface Measured {
  /** Corrects what it has charged. */
  measure(): unknown;
}

/**
 * What a peer makes this side hold, in bytes, estimated where it cannot be measured: frames that are not complete, requests
 * in progress, items that nobody has read, answers that the peer does not read. All of it is charged to the budget of its
 * session, and so to that of the server that the session belongs to, and given back when it is no longer held.
 *
 * A session that is beyond its own budget is refused more. When a server is beyond its budget, those sessions that hold most
 * are closed until it is not; what the largest asks for is refused.
 */
export class MemoryBudget {
  /** Bytes. */
  held = 0;
  readonly max: number;
  private readonly setting: string;
  private readonly parent: MemoryBudget | undefined;
  private readonly parts: Set<MemoryBudget> = new Set();
  private readonly measured: Set<Measured> = new Set();
  private mostMeasured: number = FEW_MEASURED;
  private onEvicted: ((error: RpcError) => void) | undefined;
  /** Held by sessions that are being closed. */
  private leaving = 0;
  /** The part of this one in its parent's. */
  private leavingBytes = 0;

  /** @param setting names the limit in errors */
  constructor(max: number, setting: string, parent?: MemoryBudget) {
    this.max = max;
    this.setting = setting;
    this.parent = parent;
  }

  /** Bytes that may still be held. */
  get room(): number {
    const own = this.max - this.held;
    return this.parent === undefined ? own : Math.min(own, this.parent.max - this.parent.held);
  }

  /** The session lives: it may be closed, by `onEvicted`, where others need what it holds. */
  enter(onEvicted: (error: RpcError) => void): void {
    this.onEvicted = onEvicted;
    this.parent?.parts.add(this);
  }

  /** The session has ended. What it holds is held until it is given back. */
  leave(): void {
    this.onEvicted = undefined;
    if (this.parent === undefined) return;
    this.parent.parts.delete(this);
    this.parent.leaving -= this.leavingBytes;
    this.leavingBytes = 0;
  }

  /** Holds so many more bytes. Returns false where that is too much: they are held until they are given back all the same. */
  charge(bytes: number): boolean {
    this.held += bytes;
    const { parent } = this;
    if (parent !== undefined && (parent.held += bytes) > parent.max) return this.isPressed();
    return this.held <= this.max || this.isPressed();
  }

  release(bytes: number): void {
    this.held -= bytes;
    if (this.parent !== undefined) this.parent.held -= bytes;
  }

  /** What is charged by `part` may be less by now. */
  watch(part: Measured): void {
    this.measured.add(part);
    if (this.measured.size <= this.mostMeasured) return;
    for (const each of this.measured) each.measure();
    this.mostMeasured = Math.max(FEW_MEASURED, this.measured.size * 2);
  }

  unwatch(part: Measured): void {
    this.measured.delete(part);
  }

  /** Corrects what is measured, here and in all parts. */
  measure(): void {
    for (const each of this.measured) each.measure();
    for (const part of this.parts) part.measure();
  }

  /** The error of what is too much. */
  refusal(what: string, refused: boolean = false): RpcError {
    const over = this.parent !== undefined && this.parent.held > this.parent.max ? this.parent : this;
    const text = `${what} holds too much memory: ${over.setting} is ${over.max}, and ${Math.max(0, over.held)} are held`;
    return new RpcError("resource_exhausted", text, { refused });
  }

  private isPressed(): boolean {
    for (const each of this.measured) each.measure();
    if (this.held > this.max) return false;
    return this.parent === undefined || this.parent.makeRoomFor(this);
  }

  /** Closes sessions that hold more than `asking` does, until there is room or it is the largest itself. */
  private makeRoomFor(asking: MemoryBudget): boolean {
    this.measure();
    while (this.held - this.leaving > this.max) {
      const largest = this.largest(asking);
      if (largest === asking) return false;
      largest.evict();
    }
    return true;
  }

  private largest(asking: MemoryBudget): MemoryBudget {
    let largest = asking;
    for (const part of this.parts) if (part.held > largest.held) largest = part;
    return largest;
  }

  private evict(): void {
    const { onEvicted, parent, held } = this;
    if (parent === undefined) return;
    const error = parent.refusal("the session");
    parent.parts.delete(this);
    parent.leaving += held;
    this.leavingBytes = held;
    onEvicted?.(error);
  }
}
