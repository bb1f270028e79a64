/** Limits of the topics of one process. */
export interface TopicLimits {
  /**
   * Maximum number of concurrent subscriptions to all topics together. Further ones are refused with
   * `resource_exhausted`.
   */
  readonly maxSubscriptions: number;
  /** Maximum size in bytes of a message in the form in which it is sent to subscribers. */
  readonly maxMessageBytes: number;
  /**
   * Maximum number of messages that wait for one subscriber. If there are more, the topic's option `slow` decides
   * whether the subscriber loses the oldest message or its subscription ends.
   */
  readonly maxQueuedMessages: number;
  /** Maximum estimated memory in bytes of the messages that wait for one subscriber. A single message may be larger. */
  readonly maxQueuedBytes: number;
  /**
   * Maximum size in bytes of all waiting messages, each counted once. If it is exceeded, the subscribers with the most
   * waiting bytes lose the older half of their messages, or their subscriptions end, depending on the topic's option
   * `slow`.
   */
  readonly maxHeldBytes: number;
  /** Maximum number of messages that `createTopics()` stores in memory for each topic with history. */
  readonly maxHistoryMessages: number;
  /** Approximate maximum size in bytes of the history of all topics together. The oldest messages are removed first. */
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
