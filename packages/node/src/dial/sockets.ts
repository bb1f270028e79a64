import { connect as connectTcp, type Socket } from "node:net";
import { connect as connectTls, type TLSSocket } from "node:tls";
import type { DirectSession } from "@quicrpc/core";
import { ALPN, DEFAULT_PORT } from "../protocol.js";
import { nodeStreamSession } from "../stream/node-stream.js";
import { attempt, hostOf, type TransportDialOptions } from "./dialler.js";
import { clientTls, requirePinned } from "./tls.js";

/** Dials `tcp://host[:port]`: without encryption. */
export function dialTcp(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return open(url, options, "connect", () => connectTcp({ ...target(url), noDelay: true }));
}

/** Dials `tls://host[:port]`. */
export function dialTls(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  const check = (socket: TLSSocket): void => {
    requirePinned(socket, options);
    if (socket.alpnProtocol !== ALPN) {
      throw Object.assign(new Error(`the server does not speak ${ALPN}`), { code: "ERR_TLS_ALPN" });
    }
  };
  const connect = (): TLSSocket => {
    const socket = connectTls({ ...target(url), ...clientTls(url, options), ALPNProtocols: [ALPN] });
    socket.setNoDelay(true);
    return socket;
  };
  return open(url, options, "secureConnect", connect, check);
}

/** Dials `unix:/path`. */
export function dialUnix(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return open(url, options, "connect", () => connectTcp(decodeURIComponent(url.pathname)));
}

function open<S extends Socket>(
  url: URL,
  options: TransportDialOptions,
  event: "connect" | "secureConnect",
  connect: () => S,
  check: (socket: S) => void = () => {},
): Promise<DirectSession> {
  return attempt(url, options, (resolve, reject) => {
    const socket = connect();
    socket.once("error", reject);
    socket.once(event, () => {
      try {
        check(socket);
      } catch (error) {
        reject(error);
        return;
      }
      socket.off("error", reject);
      const { maxCloseMs } = options.limits ?? {};
      const timeout = maxCloseMs === undefined ? {} : { closeTimeoutMs: maxCloseMs };
      resolve(nodeStreamSession({ readable: socket, writable: socket }, "client", timeout));
    });
    return () => socket.destroy();
  });
}

function target(url: URL): { host: string; port: number } {
  return { host: hostOf(url), port: url.port === "" ? DEFAULT_PORT : Number(url.port) };
}
