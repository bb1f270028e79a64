import { connect as connectHttp2, type ClientHttp2Session } from "node:http2";
import { isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { http2Fetch, httpTransport } from "@quicrpc/http";
import { hostOf, requirePinned, type TransportDialOptions, type TransportProvider } from "@quicrpc/node/transport";

const HTTPS_PORT = 443;

/**
 * Transport provider that calls an `https://` URL over plain HTTP. It uses `fetch`, or HTTP/2 if the user trusts
 * certificates that cannot be passed to `fetch`.
 */
export function plainHttp(): TransportProvider {
  const plain = httpTransport();
  return {
    ...plain,
    capabilities: { ...plain.capabilities, tls: true },
    dial: (url, options) => {
      if (options.ca === undefined && options.serverCertificateHashes === undefined) return plain.dial(url, options);
      const fetch = http2Fetch((origin, sessionOptions = {}) =>
        connectTrusted(new URL(origin), options, sessionOptions),
      );
      return httpTransport({ fetch, uploads: "full" }).dial(url, options);
    },
  };
}

/** Opens an HTTP/2 session with the server of an `https://` URL, which trusts what `options` say. */
export function connectTrusted(url: URL, options: TransportDialOptions, sessionOptions: object): ClientHttp2Session {
  const { ca, serverCertificateHashes } = options;
  const host = hostOf(url);
  const socket = connectTls({
    host,
    port: url.port === "" ? HTTPS_PORT : Number(url.port),
    ALPNProtocols: ["h2"],
    ...(isIP(host) === 0 && { servername: host }),
    ...(ca !== undefined && { ca: Buffer.from(ca) }),
    ...(serverCertificateHashes !== undefined && { rejectUnauthorized: false }),
  });
  // Added before the session's own listener, so that nothing is sent to a server that is not trusted.
  socket.once("secureConnect", () => {
    try {
      requirePinned(socket, options);
    } catch (error) {
      session.destroy(error as Error);
    }
  });
  const session = connectHttp2(url, { ...sessionOptions, createConnection: () => socket });
  return session;
}
