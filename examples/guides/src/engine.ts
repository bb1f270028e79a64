// The QUIC engine by itself: see packages/quic/README.md.
import cluster from "node:cluster";
import {
  type CertificateOptions,
  connect,
  connectHttp3,
  connectWebTransport,
  Endpoint,
  type ListenOptions,
  type QuicSession,
  type ServerCertificateOptions,
  type WebTransportListenOptions,
  WebTransportSession,
} from "@quicrpc/quic";

type Bytes = Uint8Array<ArrayBuffer>;

// #region streams
/** Sends back everything that arrives, on every stream. */
async function echoStreams(session: QuicSession): Promise<void> {
  for await (const stream of session.incomingBidirectionalStreams) {
    stream.readable.pipeTo(stream.writable).catch(() => {});
  }
}
// #endregion streams

export async function echo(tls: CertificateOptions, hash: Bytes): Promise<void> {
  // #region echo
  // tls: PEM texts; hash: SHA-256 of the certificate's DER, as a Uint8Array.
  const server = Endpoint.bind({ host: "127.0.0.1" });
  server.listen({ alpn: ["echo"], tls }, (session) => void echoStreams(session).catch(console.error));

  const session = await connect({
    host: "127.0.0.1",
    port: server.address.port,
    alpn: ["echo"],
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] },
  });
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode("hello over QUIC"));
  await writer.close();
  for await (const chunk of readable) console.log(new TextDecoder().decode(chunk));

  session.close({ closeCode: 0, reason: "done" });
  await server.close();
  // #endregion echo
}

export function sendDirectly(session: QuicSession, bytes: Uint8Array): boolean {
  // #region direct
  const stream = session.openStream();
  stream.attach({
    onData: (chunk) => console.log(chunk.length), // a view; never written again, unless the handler `borrows`
    onEnd: () => console.log("the peer sent FIN"),
    onReset: (_code) => {}, // RESET_STREAM
    onStopSending: (_code) => {}, // STOP_SENDING
    onDrain: () => {}, // write() may go on
    onClosed: (_error) => {}, // the session ended first
  });
  const room = stream.write(bytes, true); // true: FIN after them; false is returned above the high-water mark
  // #endregion direct
  return room;
}

export async function echoWebTransport(tls: CertificateOptions, hash: Bytes): Promise<void> {
  // #region web-transport
  const server = Endpoint.bind({ host: "127.0.0.1" });
  const webTransport: WebTransportListenOptions = {
    // Before the session exists: refuse with a status, or accept with one of the subprotocols offered. May be async.
    onRequest({ path, protocols }) {
      if (path !== "/chat") return { status: 404 };
      return protocols.includes("chat.v1") ? { protocol: "chat.v1" } : { status: 400 };
    },
  };
  server.listen({ tls, webTransport }, (session) => {
    if (session instanceof WebTransportSession) console.log(session.path, session.protocol);
    echoStreams(session).catch(console.error);
  });

  const url = `https://127.0.0.1:${server.address.port}/chat`;
  const session = await connectWebTransport(url, {
    protocols: ["chat.v1"],
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] },
  });
  const { readable, writable } = await session.createBidirectionalStream();
  const writer = writable.getWriter();
  await writer.write(new TextEncoder().encode("hello over HTTP/3"));
  await writer.close();
  for await (const chunk of readable) console.log(new TextDecoder().decode(chunk));

  session.close({ closeCode: 0, reason: "done" });
  await server.close();
  // #endregion web-transport
}

export async function requestOverHttp3(tls: CertificateOptions, hash: Bytes): Promise<void> {
  // #region http3
  const server = Endpoint.bind({ host: "127.0.0.1" });
  server.listen(
    {
      tls,
      webTransport: {},
      onHttpRequest(request) {
        request.respond(200, { "content-type": "text/plain" });
        request.stream.readable
          .pipeTo(request.stream.writable, { preventClose: true })
          .then(() => request.end({ "x-path": request.path }), console.error);
      },
    },
    () => {},
  );

  const session = await connectHttp3(`https://127.0.0.1:${server.address.port}`, {
    tls: { serverCertificateHashes: [{ algorithm: "sha-256", value: hash }] },
  });
  const request = session.request({ method: "POST", path: "/echo", headers: { accept: "text/plain" } });
  request.write(new TextEncoder().encode("hello over HTTP/3"));
  request.end();
  const { status, fields } = await request.response;
  console.log(status, fields); // 200 [ [ 'content-type', 'text/plain' ] ]
  for await (const chunk of request.readable) console.log(new TextDecoder().decode(chunk));
  console.log(await request.trailers); // [ [ 'x-path', '/echo' ] ]

  session.close();
  await server.close();
  // #endregion http3
}

export async function openInPage(hash: Bytes): Promise<ReadableWritablePair> {
  // #region page
  const transport = new WebTransport("https://example.com:4433/chat", {
    // For a certificate that no authority has issued: ECDSA P-256, valid for at most 14 days.
    serverCertificateHashes: [{ algorithm: "sha-256", value: hash }],
  });
  await transport.ready;
  const stream = await transport.createBidirectionalStream(); // { readable, writable }
  // #endregion page
  return stream;
}

export function listenToKnown(
  server: Endpoint,
  [first, second, renewed]: readonly [CertificateOptions, CertificateOptions, ServerCertificateOptions],
  ca: string,
): void {
  // #region known
  server.listen(
    {
      alpn: ["echo"],
      // One certificate, or several: chosen by the name the client asks for (SNI); the first is for every other name.
      tls: [first, { ...second, names: ["*.example.com"] }],
      // Mutual TLS: only clients with a certificate of this authority. `required: false` asks, and takes clients without one.
      clientCertificates: { ca },
      onHandshakeError: (error) => console.warn(error.code, error.message),
    },
    (session) => {
      // A node:crypto X509Certificate: subject, subjectAltName, fingerprint256, raw (DER).
      console.log(session.peerCertificate?.subject);
    },
  );
  server.updateTls({ tls: renewed, clientCertificates: { ca } }); // for new sessions; live ones go on
  // #endregion known
}

type Keys = Pick<ListenOptions, "tls" | "ticketKeys">;

export function shareOnePort(
  secret: Bytes,
  { tls, ticketKeys }: Required<Keys>,
  serve: (session: QuicSession) => void,
): void {
  // #region cluster
  if (cluster.isPrimary) {
    for (let worker = 0; worker < 4; worker++) cluster.fork();
    cluster.on("exit", () => cluster.fork());
  } else {
    // secret: 32 bytes that every process is given, as are ticketKeys.
    const server = Endpoint.bind({ port: 4433, reusePort: true, secret });
    server.listen({ alpn: ["echo"], tls, ticketKeys }, serve);
  }
  // #endregion cluster
}
