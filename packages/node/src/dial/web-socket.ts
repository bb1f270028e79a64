import { TLSSocket } from "node:tls";
import { type DirectSession, WEBSOCKET_PROTOCOL, webSocketSession } from "@quicrpc/core";
import { WebSocket } from "ws";
import { MAX_WEBSOCKET_MESSAGE } from "../protocol.js";
import { attempt, type TransportDialOptions } from "./dialler.js";
import { clientTls, requirePinned } from "./tls.js";

/** Dials `ws://` and `wss://`. */
export function dialWebSocket(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  const { headers, limits } = options;
  return attempt(url, options, (resolve, reject) => {
    const socket = new WebSocket(url, [WEBSOCKET_PROTOCOL], {
      perMessageDeflate: false,
      maxPayload: MAX_WEBSOCKET_MESSAGE,
      ...(headers !== undefined && { headers }),
      ...(url.protocol === "wss:" && clientTls(url, options)),
    });
    // Before it opens: messages may come at once.
    const session = webSocketSession(
      socket,
      "client",
      limits?.maxCloseMs === undefined ? {} : { closeTimeoutMs: limits.maxCloseMs },
    );
    socket.once("error", reject);
    socket.once("upgrade", (response) => {
      try {
        if (response.socket instanceof TLSSocket) requirePinned(response.socket, options);
      } catch (error) {
        reject(error);
      }
    });
    socket.once("open", () => resolve(session));
    return () => socket.terminate();
  });
}
