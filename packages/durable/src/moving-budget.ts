import type { RpcError } from "@quicrpc/core";
import { type Measured, MemoryBudget } from "@quicrpc/core/internal";

/** Memory that one call holds, charged to the budget of its current holder: a session, or the calls that wait for one. */
export class MovingBudget extends MemoryBudget {
  #home: MemoryBudget;
  readonly #parts: Set<Measured> = new Set();

  constructor(home: MemoryBudget) {
    super(home.max, home.setting);
    this.#home = home;
  }

  override get room(): number {
    return this.#home.room;
  }

  override charge(bytes: number): boolean {
    this.held += bytes;
    return this.#home.charge(bytes);
  }

  override release(bytes: number): void {
    this.held -= bytes;
    this.#home.release(bytes);
  }

  override watch(part: Measured): void {
    this.#parts.add(part);
    this.#home.watch(part);
  }

  override unwatch(part: Measured): void {
    this.#parts.delete(part);
    this.#home.unwatch(part);
  }

  override refusal(what: string, refused?: boolean, bytes?: number): RpcError {
    return this.#home.refusal(what, refused, bytes);
  }

  /** Moves the whole charge to `next`. Returns true if it has room. */
  moveTo(next: MemoryBudget): boolean {
    const home = this.#home;
    if (next === home) return true;
    for (const part of this.#parts) {
      home.unwatch(part);
      part.measure();
    }
    home.release(this.held);
    this.#home = next;
    for (const part of this.#parts) next.watch(part);
    return next.charge(this.held);
  }
}
