import { type Expiry, expiries, type OnceStore } from "@quicrpc/core/internal";

/** Renewals within one lease: all but the last may fail. */
const RENEWALS = 3;

/** Renews an owner's claim until `end`. */
export class Lease {
  private expiry: Expiry | undefined = undefined;
  private heldUntil: number;
  private ended = false;
  private readonly store: OnceStore;
  private readonly id: string;
  private readonly owner: string;
  private readonly leaseMs: number;
  private readonly onLost: () => void;

  /**
   * @param claimedAt time at which the claim was requested, from `performance.now`
   * @param onLost called once when others may consider the owner lost
   */
  constructor(store: OnceStore, id: string, owner: string, leaseMs: number, claimedAt: number, onLost: () => void) {
    this.store = store;
    this.id = id;
    this.owner = owner;
    this.leaseMs = leaseMs;
    this.onLost = onLost;
    this.heldUntil = claimedAt + leaseMs;
    this.wait();
  }

  end(): void {
    this.ended = true;
    if (this.expiry !== undefined) expiries.remove(this.expiry);
  }

  private wait(): void {
    const left = Math.max(0, this.heldUntil - performance.now());
    this.expiry = expiries.add(Math.min(this.leaseMs / RENEWALS, left), () => void this.renew());
  }

  private async renew(): Promise<void> {
    const asked = performance.now();
    const late = expiries.add(Math.max(0, this.heldUntil - asked), () => this.lose());
    let held: boolean | undefined;
    try {
      held = await this.store.renew(this.id, this.owner, this.leaseMs);
    } catch {
      // Tried again as long as the lease holds.
    }
    expiries.remove(late);
    if (this.ended) return;
    if (held === true) this.heldUntil = asked + this.leaseMs;
    if (held === false || performance.now() >= this.heldUntil) this.lose();
    else this.wait();
  }

  private lose(): void {
    if (this.ended) return;
    this.end();
    this.onLost();
  }
}
