import { connect as connectTcp, type Socket } from "node:net";
import type { DirectSession } from "@quicrpc/core/transport";
import { attempt, hostOf, type TransportDialOptions, selfConnection } from "../transport/dialling.js";
import { requestWebSocket } from "../web-socket/handshake.js";
import { webSocketOn } from "../web-socket/transport.js";
import { connectTrusted } from "./tls.js";

/** Dials `ws://` and `wss://`. */
export function dialWebSocket(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  const secure = url.protocol === "wss:";
  const host = hostOf(url);
  const port = url.port === "" ? (secure ? 443 : 80) : Number(url.port);
  return attempt(url, options, (resolve, reject) => {
    const upgrade = (): void => {
      const { headers = {}, limits } = options;
      requestWebSocket(
        url,
        connection,
        headers,
        () => resolve(webSocketOn(connection, "client", closing(limits))),
        reject,
      );
    };
    const connection = secure
      ? connectTrusted(url, { host, port, alpn: "http/1.1" }, options, upgrade, reject)
      : connectPlain(host, port, upgrade, reject);
    return () => connection.destroy();
  });
}

function connectPlain(host: string, port: number, onConnected: () => void, reject: (error: unknown) => void): Socket {
  const socket = connectTcp({ host, port, noDelay: true });
  socket.once("error", reject);
  socket.once("connect", () => {
    const error = selfConnection(socket);
    if (error !== undefined) return reject(error);
    socket.off("error", reject);
    onConnected();
  });
  return socket;
}

function closing(limits: TransportDialOptions["limits"]): { readonly closeTimeoutMs?: number } {
  return limits?.maxCloseMs === undefined ? {} : { closeTimeoutMs: limits.maxCloseMs };
}
