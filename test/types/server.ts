// Compiled under the settings of users' projects, never run: all that a server imports.
import * as node from "@quicrpc/node";
import * as otel from "@quicrpc/otel";
import * as quic from "@quicrpc/quic";
import { createFeedClient, createFeedRouter } from "./generated/feed.js";
import { clientItems, handlers } from "./page.js";

export { quic };

export async function both(): Promise<void> {
  const tls = await node.devCertificate();
  const routers = [createFeedRouter(handlers)];
  await using server = await node.serve({
    port: 0,
    tls,
    routers,
    interceptors: [otel.tracing()],
    authenticate: (peer) => ({ user: peer.listener }),
  });
  const port: number = server.address.port;
  const session = await node.connect(`quic://localhost:${port}`, { serverCertificateHashes: [tls.hash] });
  await clientItems(createFeedClient(session));
  // @ts-expect-error -- the server's context is what its handlers take
  await node.serve({ port: 0, tls, routers, authenticate: () => ({ user: 1 }) });
  const digest: Uint8Array = tls.hash.value;
  void digest;
}
