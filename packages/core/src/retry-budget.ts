/** Options of a retry budget. */
export interface RetryBudgetOptions {
  /** Tokens at the start, and at most. Default 10. */
  readonly maxTokens?: number | undefined;
  /** Tokens that an answer earns. Default 0.1. */
  readonly tokenRatio?: number | undefined;
}

/**
 * Tokens that calls to one service share, whichever server they go to (gRPC's retry throttling): a failure that allows another attempt takes one, an
 * answer earns a part of one. While half of them or fewer are left nothing is made again, so that retries never multiply an outage.
 */
export class RetryBudget {
  private readonly maxTokens: number;
  private readonly tokenRatio: number;
  private tokens: number;

  constructor({ maxTokens = 10, tokenRatio = 0.1 }: RetryBudgetOptions = {}) {
    this.maxTokens = maxTokens;
    this.tokenRatio = tokenRatio;
    this.tokens = maxTokens;
  }

  /** Counts an answer. */
  earn(): void {
    this.tokens = Math.min(this.maxTokens, this.tokens + this.tokenRatio);
  }

  /** Counts a failure that allows another attempt. Returns whether one may be made. */
  spend(): boolean {
    this.tokens = Math.max(0, this.tokens - 1);
    return this.tokens > this.maxTokens / 2;
  }
}
