import type { ConnectOptions } from "./dial.js";
import { Endpoint } from "./endpoint.js";
import type { Http3ConnectOptions, Http3Session } from "./http3-session.js";
import type { QuicSession } from "./session.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** From which endpoint `connect`, `connectHttp3` and `connectWebTransport` dial. */
export interface SharedEndpointOptions {
  /**
   * Dials from another UDP port than the sessions before, for a path that leads the packets of that port to a server that is gone. Dials within a second share
   * the port. Default false.
   */
  freshPort?: boolean;
}

/** Milliseconds for which a port counts as fresh; also the interval at which a replaced endpoint is checked for sessions. */
const FRESH_MS = 1000;

interface Client {
  readonly endpoint: Endpoint;
  readonly boundAt: number;
  /** Dials that have not settled. One that resolves a name has no session yet. */
  dials: number;
}

/** The client of this thread. Each thread has its own instance of this module. */
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
 * Dials from a client endpoint that the whole thread shares. The endpoint keeps the process alive only while it has
 * sessions.
 */
export async function connect({
  freshPort = false,
  ...options
}: ConnectOptions & SharedEndpointOptions): Promise<QuicSession> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connect(options));
}

/** Connects to the HTTP/3 server of `url` (`https://host:port`) from the same endpoint, for plain requests. */
export async function connectHttp3(
  url: string | URL,
  { freshPort = false, ...options }: Http3ConnectOptions & SharedEndpointOptions = {},
): Promise<Http3Session> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connectHttp3(url, options));
}

/**
 * Requests a WebTransport session at `url` (`https://host:port/path`) from the same endpoint. The session has the
 * direct interface and the W3C members. `new WebTransport(url)` is the W3C way to do the same.
 */
export async function connectWebTransport(
  url: string | URL,
  { freshPort = false, ...options }: WebTransportConnectOptions & SharedEndpointOptions = {},
): Promise<WebTransportSession> {
  return dialFrom(sharedClient(freshPort), (endpoint) => endpoint.connectWebTransport(url, options));
}
