import type { ConnectOptions } from "./dial.js";
import { Endpoint } from "./endpoint.js";
import type { Http3ConnectOptions, Http3Session } from "./http3-session.js";
import type { QuicSession } from "./session.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** Options of `connect`, `connectHttp3` and `connectWebTransport` that select the local UDP port. */
export interface SharedEndpointOptions {
  /**
   * If true, dials from a new local UDP port. Use this if the network may still forward the old port's packets to a
   * server that no longer runs. Dials within one second share the new port. Default false.
   */
  freshPort?: boolean;
}

/**
 * Milliseconds after its creation for which a local port counts as new. Also the interval at which an old endpoint is
 * checked, so that it is closed after its last session.
 */
const FRESH_MS = 1000;

interface Client {
  readonly endpoint: Endpoint;
  readonly boundAt: number;
  /** Number of dials in progress. A dial that is still resolving a host name has no session. */
  dials: number;
}

/** Endpoint that this thread's clients share. Each thread has its own instance of this module. */
let shared: Client | undefined;

function sharedClient(freshPort: boolean): Client {
  const now = performance.now();
  const old = shared;
  if (old !== undefined && !old.endpoint.closed && !(freshPort && now - old.boundAt >= FRESH_MS)) return old;
  shared = { endpoint: Endpoint.bind(), boundAt: now, dials: 0 };
  if (old !== undefined) closeWhenUnused(old);
  return shared;
}

function closeWhenUnused(client: Client): void {
  const { endpoint } = client;
  const timer = setInterval(() => {
    if (!endpoint.closed && (client.dials > 0 || endpoint.stats().sessions > 0)) return;
    clearInterval(timer);
    void endpoint.close();
  }, FRESH_MS).unref();
}

async function dialFrom<Session>(client: Client, dial: (endpoint: Endpoint) => Promise<Session>): Promise<Session> {
  client.dials++;
  try {
    return await dial(client.endpoint);
  } finally {
    client.dials--;
  }
}

/**
 * Connects to a server over QUIC, from a UDP port that all clients of this thread share. The port keeps the process
 * running only while it has sessions.
 */
export async function connect({
  freshPort = false,
  ...options
}: ConnectOptions & SharedEndpointOptions): Promise<QuicSession> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connect(options));
}

/**
 * Connects to the HTTP/3 server of `url` (`https://host:port`) for plain requests, from the UDP port that all clients
 * of this thread share.
 */
export async function connectHttp3(
  url: string | URL,
  { freshPort = false, ...options }: Http3ConnectOptions & SharedEndpointOptions = {},
): Promise<Http3Session> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connectHttp3(url, options));
}

/**
 * Opens a WebTransport session at `url` (`https://host:port/path`), from the UDP port that all clients of this thread
 * share. The session has this package's methods and the members of W3C `WebTransport`. `new WebTransport(url)` is the
 * W3C interface for the same purpose.
 */
export async function connectWebTransport(
  url: string | URL,
  { freshPort = false, ...options }: WebTransportConnectOptions & SharedEndpointOptions = {},
): Promise<WebTransportSession> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connectWebTransport(url, options));
}
