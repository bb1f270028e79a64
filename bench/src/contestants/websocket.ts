import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { WebSocket, WebSocketServer } from "ws";
import type { Certificate } from "../contestant.js";

/** Starts a TLS WebSocket server on a free port, and returns both. */
export async function listen(host: string, { cert, key }: Certificate): Promise<[WebSocketServer, number]> {
  const server = createServer({ cert, key, minVersion: "TLSv1.3", noDelay: true });
  const sockets = new WebSocketServer({ server, maxPayload: 64 * 1024 * 1024, perMessageDeflate: false });
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return [sockets, (server.address() as AddressInfo).port];
}

/** Returns a `WebSocket` class for clients that trust `certificate`. */
export function trusting({ cert }: Certificate): typeof WebSocket {
  return class extends WebSocket {
    constructor(url: string | URL, protocols?: string | string[]) {
      const options = { ca: cert, servername: "localhost", perMessageDeflate: false };
      super(url, protocols ?? [], options);
    }
  } as typeof WebSocket;
}
