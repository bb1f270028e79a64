/** Limits of the topics of one process. */
export interface TopicLimits {
  /** Subscriptions at once, of all topics; more are refused with `resource_exhausted`. */
  readonly maxSubscriptions: number;
  /** Bytes of one message as it is sent to subscribers. */
  readonly maxMessageBytes: number;
  /** Messages that wait for one subscriber. Whether it then loses the oldest or is ended, its topic's `slow` says. */
  readonly maxQueuedMessages: number;
  /** Bytes that those messages take in memory, by estimate. One message may take more. */
  readonly maxQueuedBytes: number;
  /** Bytes of all messages that wait for anybody, each counted once. Beyond them, those for whom most waits lose the older half of it, or are ended, as above. */
  readonly maxHeldBytes: number;
  /** Messages that `createTopics()` keeps in memory of each topic with history. */
  readonly maxHistoryMessages: number;
  /** Bytes of the history of all topics, about; the oldest messages go first. */
  readonly maxHistoryBytes: number;
}

export const DEFAULT_TOPIC_LIMITS: TopicLimits = {
  maxSubscriptions: 100_000,
  maxMessageBytes: 1024 * 1024,
  maxQueuedMessages: 256,
  maxQueuedBytes: 1024 * 1024,
  maxHeldBytes: 64 * 1024 * 1024,
  maxHistoryMessages: 1000,
  maxHistoryBytes: 64 * 1024 * 1024,
};
