/** Takes what a bus has for a topic. */
export interface TopicReceiver {
  /** A message has arrived; of a log, with its position. The bytes belong to the receiver. */
  message(bytes: Uint8Array, position?: string): void;
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
  /** Keeps topics with history; undefined where it keeps none. */
  readonly log?: TopicLog | undefined;
  /** Releases all that it holds. */
  close(): Promise<void>;
}

/** A message that a log has, with the bytes that were appended. */
export interface LoggedMessage {
  readonly bytes: Uint8Array;
  readonly position: string;
}

/** A subscription of one process to one topic of a log. */
export interface LogSubscription {
  /** Resolves to a position when all messages after it arrive; rejects where none will. */
  readonly ready: Promise<string>;
  /** Ends it; nothing is delivered afterwards. */
  end(): void;
}

/**
 * Keeps the messages of topics with history. A message has a position in its topic: text that means the same to all processes,
 * and that ends in an integer which grows.
 */
export interface TopicLog {
  /**
   * Resolves when the log has the message, once. Throws, or rejects, where it may not.
   *
   * @param id names the message in its topic: one whose id the log has is not appended again
   */
  append(topic: string, message: Uint8Array, id?: string): Promise<void> | undefined;
  /** Delivers messages that are appended from now on, in order and without gaps. */
  follow(topic: string, receiver: TopicReceiver): LogSubscription;
  /**
   * Yields the messages after `position` that it has by now, in order; after "0", all of them. Throws `expiredPosition()` where some of them may be
   * gone.
   */
  after(topic: string, position: string): AsyncIterable<LoggedMessage>;
  /** Releases all that it holds; a log of a bus leaves that to the bus. */
  close?(): void;
}
