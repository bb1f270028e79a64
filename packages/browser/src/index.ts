import { createSession, type Session, type SessionOptions } from "@quicrpc/core";

/** Options of `connect`. */
export interface ConnectOptions<Context = unknown> extends SessionOptions<Context> {
  /** Hashes of the certificates to trust (W3C WebTransport §9.4): ECDSA P-256, valid now, for at most 14 days. */
  readonly serverCertificateHashes?: readonly WebTransportHash[];
}

/** Connects to `https://host:port/path` over the browser's own WebTransport. Rejects when it is missing or refused. */
export async function connect<Context = unknown>(
  url: string | URL,
  options: ConnectOptions<Context> = {},
): Promise<Session<WebTransport>> {
  if (typeof WebTransport === "undefined") {
    throw new TypeError("this browser has no WebTransport: use a recent Chrome, Edge, Firefox or Safari, over https");
  }
  const { serverCertificateHashes, ...session } = options;
  const transport = new WebTransport(
    url,
    serverCertificateHashes === undefined ? {} : { serverCertificateHashes: [...serverCertificateHashes] },
  );
  await transport.ready;
  return createSession(transport, session);
}
