import { type Expiry, expiries, type OnceStore } from "@quicrpc/core/internal";

/** Number of times a claim is renewed within one lease. All renewals but the last may fail without losing the claim. */
const RENEWALS = 3;

/** Renews a process's claim to run a call, until `end` is called. */
export class Lease {
  private expiry: Expiry | undefined = undefined;
  private heldUntil: number;
  private isEnded = false;
  private readonly store: OnceStore;
  private readonly id: string;
  private readonly owner: string;
  private readonly leaseMs: number;
  private readonly onLost: () => void;

  /**
   * @param claimedAt time at which the claim was requested (`performance.now()`)
   * @param onLost called once if the lease may have expired, so that another process may take over the call
   */
  constructor(store: OnceStore, id: string, owner: string, leaseMs: number, claimedAt: number, onLost: () => void) {
    this.store = store;
    this.id = id;
    this.owner = owner;
    this.leaseMs = leaseMs;
    this.onLost = onLost;
    this.heldUntil = claimedAt + leaseMs;
    this.scheduleRenewal();
  }

  end(): void {
    this.isEnded = true;
    if (this.expiry !== undefined) expiries.remove(this.expiry);
  }

  private scheduleRenewal(): void {
    const remainingMs = Math.max(0, this.heldUntil - performance.now());
    this.expiry = expiries.add(Math.min(this.leaseMs / RENEWALS, remainingMs), () => void this.renew());
  }

  private async renew(): Promise<void> {
    const requestedAt = performance.now();
    const leaseTimeout = expiries.add(Math.max(0, this.heldUntil - requestedAt), () => this.lose());
    let isRenewed: boolean | undefined;
    try {
      isRenewed = await this.store.renew(this.id, this.owner, this.leaseMs);
    } catch {
      // Tried again as long as the lease holds.
    }
    expiries.remove(leaseTimeout);
    if (this.isEnded) return;
    if (isRenewed === true) this.heldUntil = requestedAt + this.leaseMs;
    if (isRenewed === false || performance.now() >= this.heldUntil) this.lose();
    else this.scheduleRenewal();
  }

  private lose(): void {
    if (this.isEnded) return;
    this.end();
    this.onLost();
  }
}
