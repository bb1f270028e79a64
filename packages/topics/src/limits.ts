/** Limits of the topics of one process. */
export interface TopicLimits {
  /** Most subscriptions at once, over all topics. More are refused with `resource_exhausted`. */
  readonly maxSubscriptions: number;
  /** Most bytes of one message, as it is sent to subscribers. */
  readonly maxMessageBytes: number;
  /**
   * Most messages that wait for one subscriber. Beyond it, the topic's `slow` option decides whether the subscriber
   * loses the oldest message or is ended.
   */
  readonly maxQueuedMessages: number;
  /** Most bytes of memory, by estimate, of the messages that wait for one subscriber. A single message may exceed it. */
  readonly maxQueuedBytes: number;
  /**
   * Most bytes of all waiting messages, each counted once. Beyond it, the subscribers with the most waiting bytes lose
   * the older half of their messages, or are ended, depending on `slow`.
   */
  readonly maxHeldBytes: number;
  /** Most messages that `createTopics()` keeps in memory for each topic with history. */
  readonly maxHistoryMessages: number;
  /** Most bytes, approximately, of the history of all topics. The oldest messages are dropped first. */
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
