/** Receives the messages of a topic from a bus. */
export interface TopicReceiver {
  /** Called with each message and, if it comes from a log, its position. The receiver owns the bytes. */
  message(bytes: Uint8Array, position?: string): void;
  /**
   * Called when an unknown number of messages may be missing from here on, such as after the broker was unreachable.
   * Subscriptions end with `unavailable`, so that subscribers start again.
   */
  interrupted(reason: string): void;
}

/** The subscription of one process to one topic of a bus. */
export interface BusSubscription {
  /** Resolves when all messages published from then on arrive. Rejects if the subscription failed. */
  readonly ready: Promise<void>;
  /** Ends the subscription. Nothing is delivered afterwards. */
  end(): void;
}

/**
 * Carries messages between processes: between workers, or through a broker between machines. A process subscribes once
 * to a topic, for all its clients, and also receives its own messages, so that all subscribers see the same order.
 */
export interface TopicBus {
  /** Size of the largest message that the bus accepts, in bytes. */
  readonly maxMessageBytes?: number | undefined;
  /** Resolves when the bus has accepted the message. Throws or rejects if it does not. */
  publish(topic: string, message: Uint8Array): Promise<void> | undefined;
  subscribe(topic: string, receiver: TopicReceiver): BusSubscription;
  /** Stores the messages of topics with history; undefined if the bus cannot. */
  readonly log?: TopicLog | undefined;
  /** Closes the bus and releases its resources. */
  close(): Promise<void>;
}

/** A message in a log, with the bytes that were appended. */
export interface LoggedMessage {
  readonly bytes: Uint8Array;
  readonly position: string;
}

/** The subscription of one process to one topic of a log. */
export interface LogSubscription {
  /** Resolves to a position after which all messages arrive. Rejects if the subscription failed. */
  readonly ready: Promise<string>;
  /** Ends the subscription. Nothing is delivered afterwards. */
  end(): void;
}

/**
 * Stores the messages of topics with history. A message has a position in its topic: a string with the same meaning in
 * all processes, which ends in an integer that grows.
 */
export interface TopicLog {
  /**
   * Resolves when the log has stored the message once. Throws or rejects if the log refuses it.
   *
   * @param id identifies the message in its topic: if the log already has the id, the message is not appended again
   */
  append(topic: string, message: Uint8Array, id?: string): Promise<void> | undefined;
  /** Delivers the messages that are appended from now on, in order and without gaps. */
  follow(topic: string, receiver: TopicReceiver): LogSubscription;
  /**
   * Yields the messages that are stored now after `position`, in order; after "0", all of them. Throws
   * `expiredPosition()` if some of them may have been dropped.
   */
  after(topic: string, position: string): AsyncIterable<LoggedMessage>;
  /** Releases the log's resources. For a log of a bus, the bus does that. */
  close?(): void;
}
