/** Receives the messages of one topic from a message bus. */
export interface TopicReceiver {
  /** Called with each message. `position` is given if the message comes from a log. The receiver may keep `bytes`. */
  message(bytes: Uint8Array, position?: string): void;
  /**
   * Called when an unknown number of messages may have been lost, for example after the broker was unreachable.
   * Subscriptions then end with `unavailable`, so that subscribers subscribe again.
   */
  interrupted(reason: string): void;
}

/** Subscription of one process to one topic of a message bus. */
export interface BusSubscription {
  /** Resolves when all messages that are published from then on will arrive. Rejects if the subscription failed. */
  readonly ready: Promise<void>;
  /** Ends the subscription. No messages are delivered afterwards. */
  end(): void;
}

/**
 * Carries messages between processes: between workers, or through a broker between machines. A process subscribes once
 * to a topic, for all its clients. It also receives its own messages from the bus, so that all subscribers see the same
 * order.
 */
export interface TopicBus {
  /** Maximum size in bytes of a message that the bus accepts. Undefined: no limit. */
  readonly maxMessageBytes?: number | undefined;
  /** Publishes a message. Resolves when the bus has accepted it. Throws or rejects if the bus does not accept it. */
  publish(topic: string, message: Uint8Array): Promise<void> | undefined;
  subscribe(topic: string, receiver: TopicReceiver): BusSubscription;
  /** Log that stores the messages of topics with history. Undefined if the bus has none. */
  readonly log?: TopicLog | undefined;
  /** Closes the bus and releases its resources. */
  close(): Promise<void>;
}

/** A message that a log has stored, with the bytes that were appended. */
export interface LoggedMessage {
  readonly bytes: Uint8Array;
  readonly position: string;
}

/** Subscription of one process to one topic of a log. */
export interface LogSubscription {
  /** Resolves with a position after which all messages will arrive. Rejects if the subscription failed. */
  readonly ready: Promise<string>;
  /** Ends the subscription. No messages are delivered afterwards. */
  end(): void;
}

/**
 * Stores the messages of topics with history. Each message has a position in its topic: a string that means the same in
 * all processes and ends in an increasing integer.
 */
export interface TopicLog {
  /**
   * Appends a message to a topic. Resolves when the log has stored the message. Throws or rejects if the log does not
   * accept it.
   *
   * @param id identifies the message in its topic: a message whose id the log already contains is not appended again
   */
  append(topic: string, message: Uint8Array, id?: string): Promise<void> | undefined;
  /**
   * Subscribes to the messages that are appended to a topic from now on. They are delivered in order and without gaps.
   */
  follow(topic: string, receiver: TopicReceiver): LogSubscription;
  /**
   * Yields the stored messages of a topic after `position`, in order; after "0", all of them. Throws
   * `expiredPosition()` if some of them may have been removed.
   */
  after(topic: string, position: string): AsyncIterable<LoggedMessage>;
  /**
   * Releases the log's resources. The log of a bus does not need this method, because closing the bus releases them.
   */
  close?(): void;
}
