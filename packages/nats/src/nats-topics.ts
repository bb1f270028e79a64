import { connect, type NatsConnection, type NodeConnectionOptions } from "@nats-io/transport-node";
import { checkOptions, type OptionNames } from "@quicrpc/core/internal";
import { createTopics, DEFAULT_TOPIC_LIMITS, type TopicLog, type Topics, type TopicsOptions } from "@quicrpc/topics";
import type { JetStreamSettings, NatsHistory } from "./jet-stream-log.js";
import { NatsBus } from "./nats-bus.js";

/** Options of `natsTopics`. */
export interface NatsTopicsOptions extends Omit<TopicsOptions, "bus"> {
  /**
   * Addresses of NATS servers, such as `"nats.example.com:4222"`. If one server is lost, the client connects to
   * another.
   */
  readonly servers: string | readonly string[];
  /** Further options of the NATS client, such as credentials, TLS and its name. Default: none. */
  readonly connection?: Omit<NodeConnectionOptions, "servers" | "noEcho"> | undefined;
  /**
   * Stores topics with history in a JetStream stream: `true`, or `{ stream, maxMessages, maxAgeMs, maxBytes, replicas
   * }`. With `true`, the stream is `quicrpc-topics`, with the last 1000 messages of each topic, one day and 1 GiB. A
   * missing stream is created; an existing stream is not changed. Requires the package `@nats-io/jetstream`, and NATS
   * servers of version 2.10 or later with `jetstream` enabled. Default: topics with history are refused.
   */
  readonly history?: true | NatsHistory | undefined;
  /**
   * Prefix of topic names on the NATS server, such as `"app.topics"`, so that several applications can share one
   * server. Default: none.
   */
  readonly prefix?: string | undefined;
  /**
   * Milliseconds within which the server must confirm a message; otherwise `publish` fails. If there is no server for
   * this time, subscriptions end with `unavailable`. Default 5000.
   */
  readonly timeoutMs?: number | undefined;
  /**
   * Maximum size in bytes of the messages that wait for a confirmation. Further messages are refused with
   * `resource_exhausted`. Default 16 MiB.
   */
  readonly maxUnconfirmedBytes?: number | undefined;
}

const OPTIONS: OptionNames<NatsTopicsOptions> = {
  servers: true,
  connection: true,
  history: true,
  prefix: true,
  timeoutMs: true,
  maxUnconfirmedBytes: true,
  limits: DEFAULT_TOPIC_LIMITS,
  log: true,
  onError: true,
};

const DEFAULT_TIMEOUT_MS = 5000;
const DEFAULT_UNCONFIRMED_BYTES = 16 * 1024 * 1024;
/** Milliseconds between two pings to the server. After two unanswered pings, the connection counts as lost. */
const PING_INTERVAL_MS = 2000;

/**
 * Creates topics whose messages reach other processes through a NATS server. Rejects if no server can be reached
 * initially. If the connection is lost later, the client tries to reconnect forever.
 */
export async function natsTopics(options: NatsTopicsOptions): Promise<Topics> {
  checkOptions("natsTopics()", options, OPTIONS);
  const { servers, connection, history, prefix = "", ...rest } = options;
  const { timeoutMs = DEFAULT_TIMEOUT_MS, maxUnconfirmedBytes = DEFAULT_UNCONFIRMED_BYTES, limits, onError } = rest;
  if (prefix !== "" && !/^[\w-]+(\.[\w-]+)*$/.test(prefix)) {
    throw new TypeError(`prefix of natsTopics() must be words separated by dots, not ${JSON.stringify(prefix)}`);
  }
  const nats = await connect({
    maxReconnectAttempts: -1,
    pingInterval: PING_INTERVAL_MS,
    reconnectTimeWait: 250,
    timeout: timeoutMs,
    ...connection,
    servers: typeof servers === "string" ? servers : [...servers],
  });
  const settings = { prefix: prefix === "" ? "" : `${prefix}.`, timeoutMs, maxUnconfirmedBytes };
  try {
    const log = history && (await openLog(nats, { ...(history === true ? {} : history), ...settings }));
    return createTopics({ bus: new NatsBus(nats, settings, log), limits, onError });
  } catch (error) {
    await nats.close();
    throw error;
  }
}

/** Loads the JetStream package, which is only needed for topics with history, and opens the log. */
async function openLog(nats: NatsConnection, settings: JetStreamSettings): Promise<TopicLog> {
  const { version = "" } = nats.info ?? {};
  const [, major, minor] = /^(\d+)\.(\d+)/.exec(version) ?? [];
  // An older one confirms messages, and delivers none of them.
  if (Number(major) < 2 || (Number(major) === 2 && Number(minor) < 10)) {
    throw new Error(
      `natsTopics({ history }) requires NATS 2.10 or later, and ${nats.getServer()} has ${version}: update it, or leave out history`,
    );
  }
  const { JetStreamLog } = await import("./jet-stream-log.js");
  return JetStreamLog.open(nats, settings);
}
