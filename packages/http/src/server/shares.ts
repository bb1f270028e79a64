import { type Limits, RpcError } from "@quicrpc/core";
import { type ClientShares, hasShare } from "@quicrpc/core/internal";

/**
 * Counts the calls in progress of each client. While several clients have calls, each may have only a part of
 * `maxCalls`, so that a few clients cannot use all of it.
 */
export class Shares implements ClientShares {
  private readonly limits: Limits;
  private readonly calls: Map<string, number> = new Map();

  constructor(limits: Limits) {
    this.limits = limits;
  }

  requireRoom(client: string | undefined, calls: number): void {
    if (client === undefined) return;
    const { maxCalls, maxWaitingCalls, maxPrincipalCalls } = this.limits;
    const clientCalls = this.calls.get(client) ?? 0;
    if (hasShare(clientCalls, calls, maxCalls + maxWaitingCalls, maxPrincipalCalls)) return;
    const text = `${clientCalls} calls of the client are in progress, and ${calls} of all (limits.maxPrincipalCalls, limits.maxCalls)`;
    throw new RpcError("resource_exhausted", text, { refused: true });
  }

  count(client: string | undefined, change: 1 | -1): void {
    if (client === undefined) return;
    const calls = (this.calls.get(client) ?? 0) + change;
    if (calls === 0) this.calls.delete(client);
    else this.calls.set(client, calls);
  }
}
