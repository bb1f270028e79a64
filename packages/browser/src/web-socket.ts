import { WEBSOCKET_PROTOCOL } from "@quicrpc/core/transport";
import type { PageTransportProvider } from "./transport.js";

/** Transport over the browser's own WebSocket. The code for its sessions is loaded on first use. */
export const webSocketProvider: PageTransportProvider = {
  kind: "websocket",
  name: "WebSocket",
  scheme: "wss:",
  async open(url, signal) {
    if (typeof WebSocket === "undefined") throw new Error("this platform does not support it");
    const { webSocketTransport } = await import("./loaded-later.js");
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      const socket = new WebSocket(url, [WEBSOCKET_PROTOCOL]);
      // Before it opens: messages may come at once.
      const session = webSocketTransport(socket, "client");
      socket.addEventListener("open", () => resolve(session));
      socket.addEventListener("close", ({ code, reason }) => {
        // 1006 has many causes; 1015 (RFC 6455 §7.4.1) means a failed TLS handshake, as Firefox reports it.
        const cause = code === 1015 ? "TLS failed: is its certificate trusted?" : reason;
        reject(new Error(`${url.origin} refused the WebSocket (code ${code}${cause === "" ? "" : `: ${cause}`})`));
      });
      signal.addEventListener("abort", () => {
        socket.close();
        reject(signal.reason);
      });
    });
  },
};
