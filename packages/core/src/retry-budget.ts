/** Options of a retry budget. */
export interface RetryBudgetOptions {
  /** Number of tokens at the start, and the maximum. Default 10. */
  readonly maxTokens?: number | undefined;
  /** Tokens that a success adds. Default 0.1. */
  readonly tokenRatio?: number | undefined;
}

/**
 * Tokens that the calls to one service share, whichever server they use (gRPC's retry throttling). A failure that could
 * be retried takes one token, a success adds a part of one. Calls are only repeated while more than half of the tokens
 * are left, so that retries do not make an outage worse.
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

  /** Counts a success. */
  earn(): void {
    this.tokens = Math.min(this.maxTokens, this.tokens + this.tokenRatio);
  }

  /** Counts a failure that could be retried. Returns true if another attempt may be made. */
  spend(): boolean {
    this.tokens = Math.max(0, this.tokens - 1);
    return this.tokens > this.maxTokens / 2;
  }
}
