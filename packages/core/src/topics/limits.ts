/** Limits of the topics of one process. */
export interface TopicLimits {
  /** Subscriptions at once, of all topics; more are refused with `resource_exhausted`. */
  readonly maxSubscriptions: number;
  /** Bytes of one message as it is sent to subscribers. */
  readonly maxMessageBytes: number;
  /** Messages that wait for one subscriber. Whether it then loses the oldest or is ended, its topic's `slow` says. */
  readonly maxQueuedMessages: number;
  /** Bytes of those messages. One message may be larger. */
  readonly maxQueuedBytes: number;
  /** Bytes of all messages that wait for anybody, each counted once. Beyond them, whoever is behind loses what waits for it, as above. */
  readonly maxHeldBytes: number;
}

export const DEFAULT_TOPIC_LIMITS: TopicLimits = {
  maxSubscriptions: 100_000,
  maxMessageBytes: 1024 * 1024,
  maxQueuedMessages: 256,
  maxQueuedBytes: 1024 * 1024,
  maxHeldBytes: 64 * 1024 * 1024,
};
