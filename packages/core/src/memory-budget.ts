import { RpcError } from "./errors.js";

/** What a call in progress holds beside its message: its reply and context, and what its handler keeps. */
export const CALL_BYTES = 2048;
/** What a stream of the peer's holds beside what waits on it. */
export const STREAM_BYTES = 4096;
/** What a value of a message holds, at least, beside the bytes that it was read from: an empty object, say. */
export const VALUE_BYTES = 32;

/** What an item that nobody has read holds beside its value: its place in the queue, with the room that queues grow by. */
export const ITEM_BYTES = 96;

/** So many that are measured are kept without looking whether they have to be. */
const FEW_MEASURED = 256;

/** What is measured rather than counted, since nobody says when it is less. */
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
}

/**
 * What the peer of one session makes this side hold, in bytes, estimated where it cannot be measured: frames that are not
 * complete, requests in progress, items that nobody has read, answers that the peer does not read. All of it is charged to
 * this budget, and so to that of the server that the session belongs to, and given back when it is no longer held.
 */
export class MemoryBudget {
  /** Bytes. */
  held = 0;
  readonly max: number;
  readonly setting: string;
  private readonly server: ServerBudget | undefined;
  private readonly measured: Set<Measured> = new Set();
  private mostMeasured: number = FEW_MEASURED;

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
    if (server !== undefined && (server.held += bytes) > server.max) return this.isPressed();
    return this.held <= this.max || this.isPressed();
  }

  release(bytes: number): void {
    this.held -= bytes;
    if (this.server !== undefined) this.server.held -= bytes;
  }

  /** What is charged by `part` may be less by now. */
  watch(part: Measured): void {
    this.measured.add(part);
    if (this.measured.size <= this.mostMeasured) return;
    this.measure();
    this.mostMeasured = Math.max(FEW_MEASURED, this.measured.size * 2);
  }

  unwatch(part: Measured): void {
    this.measured.delete(part);
  }

  /** Corrects what is measured. */
  measure(): void {
    for (const each of this.measured) each.measure();
  }

  /** The error of what is too much. */
  refusal(what: string, refused: boolean = false): RpcError {
    const { server } = this;
    const { setting, max, held } = server !== undefined && server.held > server.max ? server : this;
    const text = `${what} holds too much memory: ${setting} is ${max}, and ${held} are held`;
    return new RpcError("resource_exhausted", text, { refused });
  }

  private isPressed(): boolean {
    this.measure();
    const { server } = this;
    return this.held <= this.max && (server === undefined || server.held <= server.max || server.makeRoomFor(this));
  }
}
