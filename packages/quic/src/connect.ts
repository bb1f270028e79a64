import type { ConnectOptions } from "./dial.js";
import { Endpoint } from "./endpoint.js";
import type { QuicSession } from "./session.js";
import type { WebTransportConnectOptions } from "./web-transport-dial.js";
import type { WebTransportSession } from "./web-transport-session.js";

/** The client endpoint of this thread. Each thread has its own instance of this module. */
let shared: Endpoint | undefined;

function clientEndpoint(): Endpoint {
  if (shared === undefined || shared.closed) shared = Endpoint.bind();
  return shared;
}

/**
 * Dials from a client endpoint that the whole thread shares. The endpoint keeps the process alive only while it has
 * sessions.
 */
export async function connect(options: ConnectOptions): Promise<QuicSession> {
  return clientEndpoint().connect(options);
}

/**
 * Requests a WebTransport session at `url` (`https://host:port/path`) from the same endpoint. The session has the
 * direct interface and the W3C members. `new WebTransport(url)` is the W3C way to do the same.
 */
export async function connectWebTransport(
  url: string | URL,
  options: WebTransportConnectOptions = {},
): Promise<WebTransportSession> {
  return clientEndpoint().connectWebTransport(url, options);
}
