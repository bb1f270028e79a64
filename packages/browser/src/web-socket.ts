import { WEBSOCKET_PROTOCOL, webSocketSession } from "@quicrpc/core/transport";
import type { PageTransport } from "./transport.js";

/** The platform's own WebSocket. */
export const webSocketTransport: PageTransport = {
  kind: "websocket",
  name: "WebSocket",
  scheme: "wss:",
  open: (url, signal) =>
    new Promise((resolve, reject) => {
      if (typeof WebSocket === "undefined") throw new Error("it is missing here");
      const socket = new WebSocket(url, [WEBSOCKET_PROTOCOL]);
      // Before it opens: messages may come at once.
      const session = webSocketSession(socket, "client");
      socket.addEventListener("open", () => resolve(session));
      socket.addEventListener("close", ({ code, reason }) => {
        // A page is told no more: whether nobody listens, the certificate is not trusted, or the request was refused.
        reject(new Error(`${url.origin} did not accept it (code ${code}${reason === "" ? "" : `: ${reason}`})`));
      });
      signal.addEventListener("abort", () => {
        socket.close();
        reject(signal.reason);
      });
    }),
};
