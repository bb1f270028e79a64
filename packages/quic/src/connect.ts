import type { ConnectOptions } from "./dial.js";
import { Endpoint } from "./endpoint.js";
import type { QuicSession } from "./session.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** From which endpoint `connect` and `connectWebTransport` dial. */
export interface SharedEndpointOptions {
  /**
   * Dials from another UDP port than the sessions before, for a path that leads the packets of that port to a server that is gone. Dials within a second share
   * the port. Default false.
   */
  freshPort?: boolean;
}

/** Milliseconds for which a port counts as fresh; also the interval at which a replaced endpoint is checked for sessions. */
const FRESH_MS = 1000;

/** The client endpoint of this thread. Each thread has its own instance of this module. */
let shared: Endpoint | undefined;
let boundAt = 0;

function clientEndpoint(freshPort: boolean): Endpoint {
  const isOld = freshPort && performance.now() - boundAt >= FRESH_MS;
  if (shared !== undefined && !shared.closed && !isOld) return shared;
  if (shared !== undefined) closeWhenUnused(shared);
  shared = Endpoint.bind();
  boundAt = performance.now();
  return shared;
}

function closeWhenUnused(endpoint: Endpoint): void {
  const timer = setInterval(() => {
    if (!endpoint.closed && endpoint.stats().sessions > 0) return;
    clearInterval(timer);
    void endpoint.close();
  }, FRESH_MS).unref();
}

/**
 * Dials from a client endpoint that the whole thread shares. The endpoint keeps the process alive only while it has
 * sessions.
 */
export async function connect({
  freshPort = false,
  ...options
}: ConnectOptions & SharedEndpointOptions): Promise<QuicSession> {
  return clientEndpoint(freshPort).connect(options);
}

/**
 * Requests a WebTransport session at `url` (`https://host:port/path`) from the same endpoint. The session has the
 * direct interface and the W3C members. `new WebTransport(url)` is the W3C way to do the same.
 */
export async function connectWebTransport(
  url: string | URL,
  { freshPort = false, ...options }: WebTransportConnectOptions & SharedEndpointOptions = {},
): Promise<WebTransportSession> {
  return clientEndpoint(freshPort).connectWebTransport(url, options);
}
