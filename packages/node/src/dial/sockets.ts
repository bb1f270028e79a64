import { connect as connectTcp, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { DirectSession } from "@quicrpc/core/transport";
import { ALPN, DEFAULT_PORT } from "../protocol.js";
import { socketTransport } from "../stream/node-stream.js";
import { attempt, hostOf, type TransportDialOptions, selfConnection } from "../transport/dialling.js";
import type { NodeErrorCodes } from "../transport/failure.js";
import { connectTrusted } from "./tls.js";

/** Dials `tcp://host[:port]`, without encryption. */
export function dialTcp(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return open(url, options, () => connectTcp({ ...target(url), noDelay: true }));
}

export function dialTls(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return attempt(url, options, (resolve, reject) => {
    const onTrusted = (socket: TLSSocket): void => {
      if (socket.alpnProtocol === ALPN) resolve(sessionOn(socket, options));
      else
        reject(
          Object.assign(new Error(`the server does not support the protocol ${ALPN}`), {
            code: "ERR_TLS_ALPN" satisfies keyof NodeErrorCodes,
          }),
        );
    };
    const socket = connectTrusted(url, { ...target(url), alpn: ALPN }, options, onTrusted, reject);
    return () => socket.destroy();
  });
}

export function dialUnix(url: URL, options: TransportDialOptions): Promise<DirectSession> {
  return open(url, options, () => connectTcp(decodeURIComponent(url.pathname)));
}

function open(url: URL, options: TransportDialOptions, connect: () => Socket): Promise<DirectSession> {
  return attempt(url, options, (resolve, reject) => {
    const socket = connect();
    socket.once("error", reject);
    socket.once("connect", () => {
      const error = selfConnection(socket);
      if (error !== undefined) return reject(error);
      socket.off("error", reject);
      resolve(sessionOn(socket, options));
    });
    return () => socket.destroy();
  });
}

function sessionOn(socket: Socket, { limits }: TransportDialOptions): DirectSession {
  const timeout = limits?.maxCloseMs === undefined ? {} : { closeTimeoutMs: limits.maxCloseMs };
  return socketTransport(socket, "client", timeout);
}

function target(url: URL): { host: string; port: number } {
  return { host: hostOf(url), port: url.port === "" ? DEFAULT_PORT : Number(url.port) };
}
