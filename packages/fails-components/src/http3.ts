import { randomBytes } from "node:crypto";
import { createSecureContext } from "node:tls";
import {
  ConnectionLimiter,
  connectionLimits,
  firstCertificate,
  type Listen,
  type Listener,
} from "@quicrpc/node/transport";
import { FAILS_STREAMS, FAILS_WINDOWS, failsError, type FailsServer, loadFails } from "./package.js";
import { FailsRequests } from "./requests.js";

/**
 * Listens for WebTransport over HTTP/3 with the package's quiche transport. Check that the transport is installed
 * first: without it the package's server never settles. It supports one certificate and no client certificates.
 */
export const listenFailsHttp3: Listen = async (
  { host, port, path: given },
  settings,
  onIncoming,
): Promise<Listener> => {
  if (settings.clientCertificates !== undefined) {
    throw new TypeError("failsTransport() cannot ask for clientCertificates over HTTP/3");
  }
  const { Http3Server } = await loadFails();
  const path = given || "/";
  const { cert, key: privKey } = firstCertificate(settings);
  const secret = randomBytes(16).toString("hex");
  const server = new Http3Server({
    ...FAILS_WINDOWS,
    ...FAILS_STREAMS,
    host: host ?? "::",
    port,
    secret,
    cert,
    privKey,
  });
  const requests = new FailsRequests(
    server,
    path,
    settings,
    new ConnectionLimiter(connectionLimits(settings.transport, settings.limits)),
    () => listener.url,
    onIncoming,
  );
  await started(server, settings.limits.maxHandshakeMs);
  const address = server.address();
  if (address === null) throw failsError("ERR_FAILS_HTTP3", "the quiche transport did not say where it listens");
  const authority = `${address.host.includes(":") ? `[${address.host}]` : address.host}:${address.port}`;
  const listener: Listener = {
    url: `https://${authority}${path}`,
    address,
    stop: () => requests.stop(),
    close: async () => {
      requests.stop();
      server.stopServer();
      // With a session that is alive it may never settle.
      await Promise.race([server.closed, later(settings.limits.maxCloseMs)]);
    },
    updateTls: (settings) => {
      const { cert, key } = firstCertificate(settings);
      // The package would take one that cannot be used.
      createSecureContext({ cert, key });
      server.updateCert(cert, key, false);
    },
    // The package's socket has neither.
    ref: () => {},
    unref: () => {},
  };
  return listener;
};

async function started(server: FailsServer, timeoutMs: number): Promise<void> {
  server.closed.catch(() => {});
  server.startServer();
  const late = later(timeoutMs).then(() => {
    throw failsError("ERR_FAILS_HTTP3", `the quiche transport did not listen within ${timeoutMs} ms`);
  });
  await Promise.race([server.ready, late]);
}

function later(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}
