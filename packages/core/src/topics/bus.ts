/** Takes what a bus has for a topic. */
export interface TopicReceiver {
  /** A message has arrived. The bytes belong to the receiver. */
  message(bytes: Uint8Array): void;
  /**
   * Messages may be missing from here on, and nobody knows how many, as after a broker was out of reach: subscriptions end with `unavailable`,
   * so that those who subscribed start anew.
   */
  interrupted(reason: string): void;
}

/** A subscription of one process to one topic of a bus. */
export interface BusSubscription {
  /** Resolves when messages that are published from then on arrive; rejects where none will. */
  readonly ready: Promise<void>;
  /** Ends it; nothing is delivered afterwards. */
  end(): void;
}

/**
 * Carries messages between processes: between workers, or by a broker between machines. A process subscribes once to a topic, however many of its
 * clients do, and receives its own messages as well, so that all subscribers see one order.
 */
export interface TopicBus {
  /** Bytes of the largest message that it takes. */
  readonly maxMessageBytes?: number | undefined;
  /** Resolves when the bus has taken the message. Throws, or rejects, where it has not. */
  publish(topic: string, message: Uint8Array): Promise<void> | undefined;
  subscribe(topic: string, receiver: TopicReceiver): BusSubscription;
  /** Lets go of all that it holds. */
  close(): Promise<void>;
}
